"""What is done once at export, and what is left to every call."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from roundhouse_export.contract import Contract, ProgramKey, TensorSpec
from roundhouse_export.jax_program import Arrays, lower_programs
from roundhouse_export.passes import Optimised, optimise
from roundhouse_export.program_runner import run_program

RNG = np.random.default_rng(11)
X = RNG.standard_normal((4, 6), dtype=np.float32)


def numbers(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape, dtype=np.float32)


def export(
    body: Callable[[jax.Array, Arrays], jax.Array],
    weights: dict[str, np.ndarray],
    batches: tuple[int, ...] = (2, 4),
) -> tuple[Optimised, dict[ProgramKey, str]]:
    """Rewrites ``y = body(x, weights)`` and checks that all its programs still compute the same."""

    def forward(inputs: Arrays, held: Arrays) -> Arrays:
        return {"y": body(inputs["x"], held)}

    with jax.enable_x64(True):
        width = jax.eval_shape(body, X, weights).shape[1:]
    contract = Contract(
        (TensorSpec("x", "f32", ("n", 6)),), (TensorSpec("y", "f32", ("n", *width)),), batches
    )
    lowered = lower_programs("net", forward, contract, weights)
    optimised = optimise(lowered, weights, 1)
    for key, text in lowered.items():
        x = X[: key.batch]
        (wanted,) = run_program(text.encode(), [x, *weights.values()])
        arguments = [x, *optimised.weights.values()]
        (actual,) = run_program(optimised.programs[key].encode(), arguments)
        np.testing.assert_allclose(actual, wanted, rtol=1e-5, atol=1e-5)
    return optimised, lowered


def only(optimised: Optimised) -> str:
    return next(iter(optimised.programs.values()))


def test_should_write_a_composite_out_when_there_is_an_error_function() -> None:
    optimised, _ = export(lambda x, w: jax.lax.erf(x @ w["w"]), {"w": numbers(6, 3)})
    assert "composite" not in only(optimised)


def test_should_store_a_matrix_as_it_is_read_when_the_model_transposes_it() -> None:
    weights = {"fc.weight": numbers(3, 6), "fc.bias": numbers(3), "unread": numbers(9)}
    optimised, _ = export(lambda x, w: x @ w["fc.weight"].T + w["fc.bias"], weights)
    assert list(optimised.weights) == ["fc.weight", "fc.bias"]
    np.testing.assert_array_equal(optimised.weights["fc.weight"], weights["fc.weight"].T)
    assert optimised.weights["fc.weight"].flags.c_contiguous
    assert "transpose" not in only(optimised)


def test_should_see_through_functions_when_jax_calls_them() -> None:
    turn = jax.jit(lambda w: jnp.where(w > 0, w, 2 * w).T)
    weights = {"w": numbers(3, 6)}
    optimised, lowered = export(lambda x, w: x @ turn(w["w"]), weights)
    assert "call" in next(iter(lowered.values()))
    assert "call" not in only(optimised)
    assert "select" not in only(optimised)
    np.testing.assert_array_equal(
        optimised.weights["w"], np.where(weights["w"] > 0, weights["w"], 2 * weights["w"]).T
    )


def test_should_keep_both_with_names_apart_when_the_original_is_read_too() -> None:
    weights = {"a": numbers(2, 2), "w": numbers(6, 6)}
    optimised, _ = export(lambda x, w: (x @ w["w"]) + x @ jnp.sin(w["w"]).T, weights)
    assert list(optimised.weights) == ["w", "w.folded"]


def test_should_give_a_large_weight_no_second_layout_when_it_is_read_as_it_is() -> None:
    weights = {"embedding": numbers(60_000, 6)}

    def tied(x: jax.Array, w: Arrays) -> jax.Array:
        rows = w["embedding"][jnp.abs(x[:, 0]).astype(jnp.int32)]
        return ((x + rows) @ w["embedding"].T)[:, :5]

    optimised, _ = export(tied, weights, (2,))
    assert list(optimised.weights) == ["embedding"]
    assert optimised.weights["embedding"].shape == (60_000, 6)


def test_should_not_store_what_is_larger_when_weights_are_repeated_or_widened() -> None:
    weights = {
        "bias": numbers(6),
        "quantised": RNG.integers(-9, 9, (6, 6)).astype(np.int8),
        "scale": numbers(1),
    }

    def body(x: jax.Array, w: Arrays) -> jax.Array:
        wide = w["quantised"].astype(jnp.float32) * w["scale"]
        return x @ wide + jnp.broadcast_to(w["bias"], x.shape)

    optimised, _ = export(body, weights)
    assert optimised.weights["quantised"].dtype == np.int8
    assert sum(array.nbytes for array in optimised.weights.values()) <= 24 + 36 + 4


def test_should_narrow_once_when_a_weight_is_wide() -> None:
    weights = {"w": numbers(6, 3).astype(np.float64)}
    optimised, _ = export(lambda x, w: x @ w["w"].astype(jnp.float32), weights)
    assert optimised.weights["w"].dtype == np.float32
    assert "convert" not in only(optimised)


def test_should_store_parts_only_when_together_they_are_no_larger() -> None:
    weights = {"qkv": numbers(9, 6)}

    def disjoint(x: jax.Array, w: Arrays) -> jax.Array:
        q, k, v = jnp.split(w["qkv"], 3)
        return x @ q.T + (x @ k.T) * (x @ v.T)

    optimised, _ = export(disjoint, weights)
    assert len(optimised.weights) == 3
    assert sum(array.size for array in optimised.weights.values()) == 54

    def overlapping(x: jax.Array, w: Arrays) -> jax.Array:
        return x @ w["qkv"][:7].T + jnp.sum(x @ w["qkv"][2:].T, 1, keepdims=True)

    optimised, _ = export(overlapping, weights)
    assert sum(array.size for array in optimised.weights.values()) <= 54


def test_should_take_normalisation_into_the_kernel_when_it_follows_a_convolution() -> None:
    weights = {"conv": numbers(3, 2, 4), "bias": numbers(4)}
    weights |= {f"bn.{name}": numbers(4) for name in ("weight", "bias", "mean")}
    weights["bn.var"] = np.abs(numbers(4)) + np.float32(0.1)

    def body(x: jax.Array, w: Arrays) -> jax.Array:
        y = lax.conv_general_dilated(
            x.reshape(-1, 3, 2), w["conv"], (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")
        )
        y = y + w["bias"] - w["bn.mean"]
        y = y / jnp.sqrt(w["bn.var"] + 1e-5) * w["bn.weight"] + w["bn.bias"]
        return jax.nn.relu(y)

    optimised, _ = export(body, weights)
    assert list(optimised.weights) == ["conv", "bn.bias"]
    text = only(optimised)
    assert "multiply" not in text and "divide" not in text and "subtract" not in text


def test_should_leave_the_kernel_when_something_else_reads_the_convolution() -> None:
    weights = {"conv": numbers(3, 2, 4), "scale": numbers(4)}

    def body(x: jax.Array, w: Arrays) -> jax.Array:
        y = lax.conv_general_dilated(
            x.reshape(-1, 3, 2), w["conv"], (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")
        )
        return y * w["scale"] + jnp.tanh(y)

    optimised, _ = export(body, weights)
    np.testing.assert_array_equal(optimised.weights["conv"], weights["conv"])


def test_should_keep_folded_kernels_out_of_loops_when_they_stand_in_one() -> None:
    weights = {"w": numbers(6, 6)}

    def body(x: jax.Array, w: Arrays) -> jax.Array:
        return lax.fori_loop(0, 3, lambda _, y: jnp.tanh(y @ w["w"].T), x)

    optimised, _ = export(body, weights)
    assert list(optimised.weights) == ["w"]


@pytest.mark.parametrize("dtype", [np.float32, jnp.bfloat16, np.int32, np.bool_])
def test_should_become_a_weight_when_a_constant_is_large(dtype: type) -> None:
    table = (RNG.integers(0, 9, (20_000, 6)) % (2 if dtype is np.bool_ else 9)).astype(dtype)
    weights = {"w": numbers(6, 6)}

    def body(x: jax.Array, w: Arrays) -> jax.Array:
        rows = jnp.asarray(table)[jnp.abs(x[:, 0] * 100).astype(jnp.int32)]
        return x @ w["w"] + rows.astype(jnp.float32)

    optimised, lowered = export(body, weights)
    if np.dtype(dtype) == np.bool_ or table.nbytes > 64 << 10:
        name, lifted = list(optimised.weights.items())[-1]
        assert name.startswith("constant.")
        np.testing.assert_array_equal(lifted, table)
        assert max(map(len, optimised.programs.values())) < 10_000
        assert min(map(len, lowered.values())) > 20_000


def test_should_stay_in_the_program_when_a_constant_is_small_or_of_one_value() -> None:
    weights = {"w": numbers(6, 6)}

    def body(x: jax.Array, w: Arrays) -> jax.Array:
        small = jnp.asarray(np.arange(6, dtype=np.float32))
        return x @ w["w"] + small + lax.cumsum(jnp.full((40_000, 6), 2.0), 0)[-1]

    optimised, _ = export(body, weights, (2,))
    assert list(optimised.weights) == ["w"]


def test_should_be_the_same_bytes_when_done_twice_and_in_other_models() -> None:
    weights = {"a": numbers(6, 6), "b": numbers(6, 6)}

    def first(x: jax.Array, w: Arrays) -> jax.Array:
        return x @ jnp.tanh(w["a"]).T @ w["b"].T

    def second(x: jax.Array, w: Arrays) -> jax.Array:
        return jnp.sin(x @ w["b"].T) @ jnp.tanh(w["a"]).T

    one, _ = export(first, weights)
    again, _ = export(first, weights)
    other, _ = export(second, weights)
    assert one.programs == again.programs
    for name in weights:
        assert one.weights[name].tobytes() == again.weights[name].tobytes()
        assert one.weights[name].tobytes() == other.weights[name].tobytes()
