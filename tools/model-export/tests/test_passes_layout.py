"""Pooling, products and transposes in the form that the CPU computes fastest: the same numbers."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir

from roundhouse_export.contract import ProgramKey
from roundhouse_export.passes import Optimised, optimise, optimise_by_platform
from roundhouse_export.program_runner import run_program

KEY = ProgramKey(None, None)
Pool = tuple[tuple[int, ...], dict[str, Any]]


def lowered(function: Callable[..., Any], *arrays: np.ndarray) -> str:
    return str(jax.jit(function, keep_unused=True).lower(*arrays).compiler_ir("stablehlo"))


def rewritten(
    function: Callable[..., Any], image: np.ndarray, *weights: np.ndarray
) -> tuple[str, Optimised]:
    """Optimises a program and checks that it computes what it did, for every platform."""
    named = {f"w{at}": each for at, each in enumerate(weights)}
    before = lowered(function, image, *weights)
    optimised = optimise_by_platform({KEY: before}, named, 1)
    wanted = run_program(before.encode(), [image, *weights])
    for text in (optimised.programs[KEY], optimised.for_cpu.get(KEY)):
        if text is not None:
            got = run_program(text.encode(), [image, *optimised.weights.values()])
            for mine, theirs in zip(got, wanted, strict=True):
                np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=2e-5)
    return optimised.for_cpu.get(KEY, optimised.programs[KEY]), optimised


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(5).standard_normal(shape).astype(np.float32)


def pooled(
    combine: Callable[..., Any],
    start: float,
    window: tuple[int, ...],
    **options: Any,
) -> Callable[[jax.Array], jax.Array]:
    rank = len(window)
    return lambda x: lax.reduce_window(
        x,
        np.asarray(start, x.dtype)[()],
        combine,
        window,
        options.get("strides", (1,) * rank),
        options.get("padding", ((0, 0),) * rank),
        options.get("base_dilation", (1,) * rank),
        options.get("window_dilation", (1,) * rank),
    )


POOLS = {
    "max-channels-first": (
        (2, 3, 9, 8),
        pooled(
            lax.max,
            -np.inf,
            (1, 1, 3, 3),
            strides=(1, 1, 2, 2),
            padding=((0, 0), (0, 0), (1, 1), (0, 1)),
        ),
    ),
    "max-channels-last": (
        (2, 9, 8, 3),
        pooled(lax.max, -np.inf, (1, 2, 3, 1), strides=(1, 2, 1, 1)),
    ),
    "min-asymmetric": (
        (1, 2, 7, 5),
        pooled(lax.min, np.inf, (1, 1, 2, 4), padding=((0, 0), (0, 0), (0, 2), (3, 1))),
    ),
    "sum-dilated": ((1, 4, 11, 9), pooled(lax.add, 0, (1, 1, 3, 2), window_dilation=(1, 1, 2, 3))),
    "product-cut": (
        (1, 2, 6, 6),
        pooled(lax.mul, 1, (1, 1, 2, 2), padding=((0, 0), (0, 0), (-1, 0), (0, -2))),
    ),
    "max-over-channels": ((1, 6, 4, 4), pooled(lax.max, -np.inf, (1, 3, 1, 2))),
    "max-over-rows": ((5, 4), pooled(lax.max, -np.inf, (2, 1), strides=(3, 1))),
    "strides-alone": (
        (1, 3, 8, 8),
        pooled(lax.max, -np.inf, (1, 1, 2, 1), strides=(1, 2, 1, 2)),
    ),
    "one-axis": ((2, 3, 17), pooled(lax.max, -np.inf, (1, 1, 4), strides=(1, 1, 4))),
    "three-axes": ((1, 2, 5, 4, 6), pooled(lax.max, -np.inf, (1, 1, 2, 2, 3))),
}


@pytest.mark.parametrize("case", POOLS)
def test_should_pool_alike_by_slices(case: str) -> None:
    shape, function = POOLS[case]
    text, optimised = rewritten(function, numbers(*shape))
    assert "reduce_window" not in text
    assert "reduce_window" in optimised.programs[KEY]  # of the other platforms


def test_should_pool_whole_numbers_and_numbers_that_are_none() -> None:
    window = pooled(lax.max, np.iinfo(np.int32).min, (1, 1, 2, 2))
    text, _ = rewritten(window, np.arange(48, dtype=np.int32).reshape(1, 3, 4, 4) * -7)
    assert "reduce_window" not in text
    image = numbers(1, 2, 5, 5)
    image[0, 1, 2, 2], image[0, 0, 0, 0] = np.nan, -np.inf
    text, _ = rewritten(pooled(lax.max, -np.inf, (1, 1, 3, 3)), image)
    assert "reduce_window" not in text


@pytest.mark.parametrize(
    "function",
    [
        pooled(lax.max, -np.inf, (1, 1, 9, 8)),  # 72 slices would be read for each result
        pooled(lax.max, -np.inf, (1, 1, 2, 2), base_dilation=(1, 1, 2, 1)),
        pooled(lambda a, b: a + b + 1, 0, (1, 1, 2, 2)),
        pooled(lax.add, 2, (1, 1, 2, 2), padding=((0, 0), (0, 0), (1, 0), (0, 1))),
    ],
)
def test_should_leave_pooling_that_slices_are_no_gain_for(function: Callable[..., Any]) -> None:
    image = numbers(1, 2, 9, 9)
    optimised = optimise_by_platform({KEY: lowered(function, image)}, {}, 1)
    assert "reduce_window" in optimised.programs[KEY]
    assert not optimised.for_cpu


def test_should_store_a_factor_with_what_is_summed_first() -> None:
    def forward(x: jax.Array, w: jax.Array) -> jax.Array:
        return lax.dot_general(x, w, (((1, 2), (2, 1)), ((), ())))

    text, optimised = rewritten(forward, numbers(4, 3, 5), numbers(7, 5, 3))
    assert optimised.weights["w0"].shape == (3, 5, 7)
    assert "transpose" not in text


def test_should_leave_a_factor_that_is_read_in_another_way_too() -> None:
    def forward(x: jax.Array, table: jax.Array) -> jax.Array:
        return lax.dot_general(table[x], table, (((1,), (1,)), ((), ())))  # tied embeddings

    _, optimised = rewritten(forward, np.array([3, 0], np.int32), numbers(9, 4))
    assert [each.shape for each in optimised.weights.values()] == [(9, 4)]


# What may follow a convolution whose result is turned to channels first: [2, 4, 6, 5].
FOLLOWING: dict[str, Callable[..., Any]] = {
    "bias and activation": lambda y, b: jnp.tanh(y + b) * 0.5,
    "mean of each channel": lambda y, b: y.mean((2, 3)),
    "maximum over rows": lambda y, b: y.max(2),
    "sum over channels": lambda y, b: (y * b).sum(1),
    "argmax over channels": lambda y, b: jnp.argmax(y, 1),
    "two in one": lambda y, b: jnp.concatenate([y, jnp.exp(y)], 1).sum(2),
    "padded and cut": lambda y, b: jnp.pad(y, ((0, 0), (1, 0), (0, 2), (3, 1)))[:, 1:, ::2].max(3),
    "axes of one": lambda y, b: y[:, None].max(3)[..., None],
    "chosen": lambda y, b: jnp.where(y > 0, jnp.clip(y, -1, 1), b).max(2),
    "chosen by place": lambda y, b: jnp.where(lax.iota(np.int32, 6)[:, None] > 2, y, b).sum(3),
    "joined with an input's part": lambda y, b: y + y[:, ::-1],
    "another layout": lambda y, b: jnp.transpose(jnp.abs(y), (2, 0, 3, 1)),
    "split": lambda y, b: y.reshape(2, 2, 2, 30).max(2),
    "returned as it is": lambda y, b: y,
}


@pytest.mark.parametrize("case", FOLLOWING)
def test_should_compute_the_same_with_channels_last(case: str) -> None:
    def forward(x: jax.Array, kernel: jax.Array, bias: jax.Array) -> Any:
        y = lax.conv_general_dilated(
            x, kernel, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW")
        )
        return FOLLOWING[case](y, bias)

    rewritten(forward, numbers(2, 3, 6, 5), numbers(4, 3, 3, 3), numbers(1, 4, 1, 1))


def test_should_turn_nothing_between_two_convolutions() -> None:
    def forward(x: jax.Array, first: jax.Array, bias: jax.Array, second: jax.Array) -> Any:
        numbers = ("NCHW", "OIHW", "NCHW")
        y = lax.conv_general_dilated(x, first, (1, 1), "SAME", dimension_numbers=numbers)
        y = lax.reduce_window(
            jax.nn.relu(y + bias), -np.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"
        )
        y = lax.conv_general_dilated(y, second, (1, 1), "SAME", dimension_numbers=numbers)
        return y.max((2, 3))

    text, _ = rewritten(
        forward, numbers(2, 3, 6, 6), numbers(4, 3, 3, 3), numbers(1, 4, 1, 1), numbers(5, 4, 3, 3)
    )
    assert text.count("stablehlo.transpose") == 1  # of the input


def test_should_leave_heads_of_attention_where_they_are() -> None:
    def forward(x: jax.Array, w: jax.Array) -> jax.Array:
        heads = jnp.transpose((x @ w).reshape(2, 6, 2, 4), (0, 2, 1, 3))
        return jax.nn.softmax(heads, -1)

    image, weight = numbers(2, 6, 8), numbers(8, 8)
    before = lowered(forward, image, weight)
    after = optimise({KEY: before}, {"w": weight}, 1).programs[KEY]

    def places(text: str) -> list[str]:
        with make_ir_context():
            names = [
                each.name
                for function in ir.Module.parse(text).body.operations
                for each in function.regions[0].blocks[0].operations
            ]
        return [name for name in names if "transpose" in name or "dot" in name]

    assert places(after) == places(before)
