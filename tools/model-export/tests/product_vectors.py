"""Programs with products of every kind: what the worker's rewriting is tested with, on both sides.

``python tests/product_vectors.py`` writes them for model-bundle's tests, which write what they make
of them beside them with ``-Dupdate.vectors=true``.
"""

import io
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from roundhouse_export.contract import Contract, TensorSpec
from roundhouse_export.jax_program import Arrays, Encoding, Forward, export_programs
from roundhouse_export.numerics import Numerics

FOLDER = Path(__file__).parents[3] / "model-bundle/src/test/resources/products"
PRESET = lax.DotAlgorithmPreset
CONTRACT = Contract(
    inputs=(TensorSpec("x", "f32", (4, 4)),), outputs=(TensorSpec("y", "f32", (4, 4)),)
)
WEIGHTS = {"w": (np.arange(16, dtype=np.float32).reshape(4, 4) - 7) / 23}
X = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)


def _convolve(x: jax.Array, w: jax.Array) -> jax.Array:
    return lax.conv_general_dilated(x[None, None], w[None, None], (1, 1), "SAME")[0, 0]


def every_kind(inputs: Arrays, weights: Arrays) -> Arrays:
    x, w = inputs["x"], weights["w"]
    for precision in (
        PRESET.TF32_TF32_F32,
        PRESET.TF32_TF32_F32_X3,
        PRESET.TF32_TF32_F32,
        PRESET.F32_F32_F32,
        PRESET.BF16_BF16_F32,
        None,
        "high",
        "highest",
        (lax.Precision.DEFAULT, lax.Precision.HIGHEST),
    ):
        x = jnp.matmul(x, w, precision=precision)
    batched = jnp.einsum("bij,bjk->bik", jnp.stack([x, w]), jnp.stack([w, x]))
    return {"y": _convolve(batched[0], w)}


def nested(inputs: Arrays, weights: Arrays) -> Arrays:
    """Products in loops, branches and functions, among more attributes than a byte counts."""
    x, w = inputs["x"], weights["w"]

    @jax.jit
    def layer(value: jax.Array) -> jax.Array:
        return jnp.matmul(value, w, precision=PRESET.TF32_TF32_F32)

    for i in range(150):
        x = x + np.float32(1 / (i + 3))
    x = layer(x) / 50
    x = lax.fori_loop(0, 3, lambda _, y: layer(y) @ w, x)
    x = lax.cond(jnp.sum(x) > 0, lambda y: layer(y), lambda y: _convolve(y, w), x)
    return {"y": lax.fori_loop(0, 2, lambda _, y: jnp.sort(jnp.cumsum(y, axis=0)), x)}


VECTORS: dict[str, Forward] = {"every_kind": every_kind, "nested": nested}


def vector(name: str, encoding: Encoding, numerics: Numerics = Numerics.AS_WRITTEN) -> bytes:
    (code,) = export_programs(
        name, VECTORS[name], CONTRACT, WEIGHTS, encoding, ("cuda",), numerics
    ).values()
    return code


def file_name(name: str, encoding: Encoding) -> str:
    return f"{name}.{encoding.name.lower()}.mlir"


COMMITTED = (
    ("every_kind", Encoding.TEXT),
    ("every_kind", Encoding.ARTIFACT),
    ("nested", Encoding.ARTIFACT),
)
"""What model-bundle's tests rewrite. ``nested`` as text would be five times as large."""


def plain_product(version: str | None) -> bytes:
    """A product as an artifact for another version, or as bytecode of StableHLO itself."""
    text = (
        "func.func public @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {"
        "  %y = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0]"
        "    : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>"
        "  return %y : tensor<4x4xf32> }"
    )
    with make_ir_context():
        module = ir.Module.parse(text)
        if version is not None:
            return bytes(stablehlo.serialize_portable_artifact(module, version))
        written = io.BytesIO()
        module.operation.write_bytecode(written)
        return written.getvalue()


def committed() -> dict[str, bytes]:
    files = {file_name(name, encoding): vector(name, encoding) for name, encoding in COMMITTED}
    files["old.artifact.mlir"] = plain_product("0.14.0")
    files["stablehlo.bytecode.mlir"] = plain_product(None)
    return files


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for file, content in committed().items():
        (FOLDER / file).write_bytes(content)
