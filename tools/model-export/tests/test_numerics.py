"""What a program file says of how exactly products are computed."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from roundhouse_export.contract import Contract, TensorSpec
from roundhouse_export.jax_program import Arrays, Encoding, export_programs
from roundhouse_export.numerics import Numerics
from roundhouse_export.program_runner import run_program

CONTRACT = Contract(
    inputs=(TensorSpec("x", "f32", (4, 4)),), outputs=(TensorSpec("y", "f32", (4, 4)),)
)
WEIGHTS = {"w": np.arange(16, dtype=np.float32).reshape(4, 4) / 7}
X = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)


def every_product(inputs: Arrays, weights: Arrays) -> Arrays:
    x, w = inputs["x"], weights["w"]
    y = jnp.matmul(x, w, precision=lax.DotAlgorithmPreset.TF32_TF32_F32)
    y = jnp.matmul(y, w, precision=lax.DotAlgorithmPreset.TF32_TF32_F32_X3)
    y = jnp.matmul(y, w, precision=lax.DotAlgorithmPreset.F32_F32_F32)
    y = y @ w
    y = lax.conv_general_dilated(y[None, None], w[None, None], (1, 1), "SAME")[0, 0]
    return {"y": y}


def program(numerics: Numerics, encoding: Encoding = Encoding.TEXT) -> bytes:
    (code,) = export_programs(
        "net", every_product, CONTRACT, WEIGHTS, encoding, ("cuda",), numerics
    ).values()
    return code


def test_should_keep_what_the_function_says_when_as_written() -> None:
    text = program(Numerics.AS_WRITTEN).decode()
    assert text.count("lhs_precision_type = tf32") == 2
    assert "HIGHEST" not in text


def test_should_leave_no_tf32_when_f32() -> None:
    text = program(Numerics.F32).decode()
    assert "tf32" not in text
    assert text.count("lhs_precision_type = f32") == 3
    assert text.count("num_primitive_operations = 1,") == 3
    # The plain dot and the convolution.
    assert text.count("HIGHEST") == 4


@pytest.mark.parametrize("encoding", list(Encoding))
def test_should_compute_in_f32_when_run_from_the_file(encoding: Encoding) -> None:
    (result,) = run_program(program(Numerics.F32, encoding), [X, WEIGHTS["w"]])

    def plain(x, w):
        y = x @ w @ w @ w @ w
        return lax.conv_general_dilated(y[None, None], w[None, None], (1, 1), "SAME")[0, 0]

    np.testing.assert_allclose(result, plain(X, WEIGHTS["w"]), rtol=1e-5)
