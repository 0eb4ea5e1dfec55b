"""What the worker makes of programs with products, read by StableHLO's parser and run by XLA."""

import jax
import numpy as np
import product_vectors
import pytest
from jax.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from product_vectors import COMMITTED, FOLDER, WEIGHTS, X

from roundhouse_export.jax_program import Encoding
from roundhouse_export.numerics import Numerics
from roundhouse_export.program_runner import run_program

each_vector = pytest.mark.parametrize(("name", "encoding"), COMMITTED)


def rewritten(name: str, encoding: Encoding, scope: str) -> bytes:
    return (FOLDER / f"{product_vectors.file_name(name, encoding)}.{scope}").read_bytes()


def parsed(code: bytes) -> str:
    with make_ir_context() as context:
        if code.startswith(b"ML\xefR"):
            module = stablehlo.deserialize_portable_artifact(context, code)
        else:
            module = ir.Module.parse(code.decode())
        assert module.operation.verify()
        return str(module.operation.get_asm(enable_debug_info=False))


def test_should_be_what_this_source_makes_when_committed() -> None:
    for file, content in product_vectors.committed().items():
        if file == "stablehlo.bytecode.mlir":
            continue  # names the build of MLIR that wrote it
        assert (FOLDER / file).read_bytes() == content, file


@each_vector
def test_should_equal_the_export_in_f32_when_every_product_was_rewritten(
    name: str, encoding: Encoding
) -> None:
    wanted = product_vectors.vector(name, encoding, Numerics.F32)
    assert parsed(rewritten(name, encoding, "every_product")) == parsed(wanted)


@each_vector
def test_should_differ_in_algorithms_alone_when_those_were_rewritten(
    name: str, encoding: Encoding
) -> None:
    before = parsed(product_vectors.vector(name, encoding)).splitlines()
    after = parsed(rewritten(name, encoding, "tf32_algorithms")).splitlines()
    changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    assert changed
    for old, new in changed:
        assert "lhs_precision_type = tf32, rhs_precision_type = tf32," in old
        assert new == old.replace("tf32", "f32").replace("operations = 3", "operations = 1")
    assert "tf32" not in "".join(after)


@each_vector
def test_should_compute_as_the_export_in_f32_when_run(name: str, encoding: Encoding) -> None:
    arguments = [X, *WEIGHTS.values()]
    (wanted,) = run_program(product_vectors.vector(name, encoding, Numerics.F32), arguments)
    for scope in ("every_product", "tf32_algorithms"):
        (result,) = run_program(rewritten(name, encoding, scope), arguments)
        np.testing.assert_array_equal(result, wanted)


def test_should_be_refused_by_xla_when_the_cpu_is_asked_for_tf32() -> None:
    # The reason for rewriting where a device has no TF32. Larger products pass, in f32.
    text = """func.func public @main(%x: tensor<1x1xf32>) -> tensor<1x1xf32> {
      %y = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0], algorithm = <
        lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32,
        lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1,
        allow_imprecise_accumulation = false>
        : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
      return %y : tensor<1x1xf32> }"""
    with pytest.raises(jax.errors.JaxRuntimeError, match="ALG_DOT_TF32_TF32_F32"):
        run_program(text.encode(), [np.ones((1, 1), np.float32)])
