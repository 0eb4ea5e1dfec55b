"""Writes the modules of this folder, as text and as portable artifacts: run it with JAX 0.10 in this folder.

good-*: what JAX makes of sorts, top-k and the like. bad-*: what XLA's CPU plugin crashes over or never compiles.
"""

from pathlib import Path

import jax
import jax.numpy as jnp
from jax import lax
from jax._src.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

F32 = jax.ShapeDtypeStruct((4, 100), jnp.float32)
I32 = jax.ShapeDtypeStruct((4, 100), jnp.int32)
GOOD = {
    "sort": (jnp.sort, [F32]),
    "sort-i32": (jnp.sort, [I32]),
    "sort-bool": (jnp.sort, [jax.ShapeDtypeStruct((4, 100), jnp.bool_)]),
    "sort-bf16": (jnp.sort, [jax.ShapeDtypeStruct((4, 100), jnp.bfloat16)]),
    "sort-complex": (lambda x: jnp.abs(jnp.sort(x.astype(jnp.complex64))), [F32]),
    "argsort": (lambda x: jnp.argsort(x, stable=False, descending=True), [F32]),
    "keys": (lambda x, y: lax.sort((x, y, x), num_keys=2), [F32, I32]),
    "permutation": (lambda x: jax.random.permutation(jax.random.key(0), x), [F32]),
    "unique": (lambda x: jnp.unique(x, size=10), [I32]),
    "top-k": (lambda x: lax.top_k(x, 5), [F32]),
    "approx-top-k": (lambda x: lax.approx_max_k(x, 5), [F32]),
    "erf": (lambda x: jax.scipy.special.erfinv(lax.erf(x)), [F32]),
}


def sort(comparison: str) -> str:
    return f"""\
func.func public @main(%x: tensor<1000xf32>) -> tensor<1000xf32> {{
  %y = "stablehlo.sort"(%x) ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    {comparison}
    stablehlo.return %c : tensor<i1>
  }}) {{dimension = 0 : i64, is_stable = false}} : (tensor<1000xf32>) -> tensor<1000xf32>
  return %y : tensor<1000xf32>
}}
"""


def compare(direction: str) -> str:
    return f"%c = stablehlo.compare {direction}, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>"


def top_k(call: str) -> str:
    return f"""\
func.func public @main(%x: tensor<2x8xf32>) -> tensor<2x9xf32> {{
  %y:2 = stablehlo.custom_call @{call}(%x) : (tensor<2x8xf32>) -> (tensor<2x9xf32>, tensor<2x9xi32>)
  return %y#0 : tensor<2x9xf32>
}}
"""


def doubling(depth: int) -> str:
    type_ = "(tensor<4xf32>) -> tensor<4xf32>"
    head = "(%a: tensor<4xf32>) -> tensor<4xf32>"
    text = f"func.func private @f0{head} {{\n  %0 = stablehlo.sine %a : tensor<4xf32>\n  return %0 : tensor<4xf32>\n}}\n"
    for i in range(1, depth + 1):
        name = "public @main" if i == depth else f"private @f{i}"
        text += f"func.func {name}{head} {{\n  %0 = call @f{i - 1}(%a) : {type_}\n"
        text += f"  %1 = call @f{i - 1}(%0) : {type_}\n  return %1 : tensor<4xf32>\n}}\n"
    return text


BAD = {
    "sort-le": sort(compare("LE")),
    "sort-ne": sort(compare("NE")),
    "sort-true": sort("%c = stablehlo.constant dense<true> : tensor<i1>"),
    "top-k": top_k("TopK"),
    "custom-call": top_k("somebody_elses"),
    "doubling": doubling(29),
}


def write(name: str, text: str) -> None:
    with mlir.make_ir_context():
        text = ir.Module.parse(text).operation.get_asm(enable_debug_info=False)
    Path(f"{name}.text.mlir").write_text(text)
    Path(f"{name}.artifact.mlir").write_bytes(stablehlo.serialize_portable_artifact_str(text, "1.13.0"))


for key, (function, types) in GOOD.items():
    write(f"good-{key}", jax.export.export(jax.jit(function, keep_unused=True))(*types).mlir_module())
for key, module in BAD.items():
    write(f"bad-{key}", module)
