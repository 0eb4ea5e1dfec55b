"""Every way of computing a convolution against XLA's own."""

import dataclasses

import jax
import numpy as np
import pytest
from jax import lax
from thinning import thinned

from roundhouse_export.contract import Contract, ProgramKey, TensorSpec
from roundhouse_export.jax_program import Arrays, lower_programs
from roundhouse_export.passes import Optimised, layers, optimise, optimise_by_platform
from roundhouse_export.passes.convolution import LOWERINGS, Convolution, candidates, choose
from roundhouse_export.program_runner import run_program

KEY = ProgramKey(None, None)


def convolution(
    image: tuple[int, ...],
    window: tuple[int, ...],
    output_channels: int,
    **changes: object,
) -> Convolution:
    rank = len(window)
    groups = int(changes.get("groups", 1))  # type: ignore[call-overload]
    plain = Convolution(
        image,
        (*window, image[-1] // groups, output_channels),
        (1,) * rank,
        ((1, 1),) * rank,
        (1,) * rank,
        (1,) * rank,
        1,
    )
    return dataclasses.replace(plain, **changes)  # type: ignore[arg-type]


CASES = {
    "depthwise": convolution((1, 7, 9, 6), (3, 3), 6, groups=6),
    "depthwise-stride-2-odd": convolution((2, 7, 10, 4), (3, 3), 4, groups=4, strides=(2, 2)),
    "depthwise-stride-1-by-3": convolution((1, 8, 11, 4), (3, 5), 4, groups=4, strides=(1, 3)),
    "depthwise-dilated": convolution((1, 9, 9, 4), (3, 3), 4, groups=4, kernel_dilation=(2, 3)),
    "depthwise-asymmetric": convolution(
        (2, 6, 5, 3), (2, 4), 3, groups=3, padding=((0, 2), (3, 1))
    ),
    "depthwise-cut": convolution((1, 9, 9, 3), (3, 3), 3, groups=3, padding=((-1, -2), (1, -1))),
    "depthwise-multiplier-3": convolution((3, 6, 6, 2), (3, 3), 6, groups=2, strides=(2, 1)),
    "depthwise-even-window": convolution((1, 6, 7, 3), (4, 2), 3, groups=3),
    "depthwise-1d": convolution((2, 17, 5), (7,), 5, groups=5, padding=((6, 0),)),
    "depthwise-1d-multiplier": convolution((1, 8, 3), (3,), 6, groups=3, strides=(2,)),
    "depthwise-transposed": convolution((1, 5, 4, 3), (3, 3), 3, groups=3, input_dilation=(2, 2)),
    "grouped": convolution((2, 7, 6, 8), (3, 3), 12, groups=4),
    "grouped-strided": convolution(
        (1, 9, 8, 6), (3, 2), 4, groups=2, strides=(2, 3), padding=((0, 1), (2, 0))
    ),
    "grouped-1d": convolution((1, 12, 8), (5,), 8, groups=4, kernel_dilation=(2,)),
    "plain-odd": convolution((1, 7, 5, 3), (3, 3), 4),
    "plain-batch": convolution((3, 8, 8, 5), (3, 3), 2),
    "plain-asymmetric": convolution((2, 6, 9, 3), (3, 3), 4, padding=((2, 0), (0, 3))),
    "plain-unpadded": convolution((1, 10, 11, 3), (3, 3), 4, padding=((0, 0), (0, 0))),
    "plain-one-output": convolution((1, 3, 3, 2), (3, 3), 3, padding=((0, 0), (0, 0))),
    "strided-7x7": convolution((1, 13, 14, 3), (7, 7), 4, strides=(2, 2), padding=((3, 3), (2, 3))),
    "dilated": convolution((1, 9, 9, 2), (3, 3), 3, kernel_dilation=(2, 2)),
    "pointwise": convolution((2, 5, 6, 4), (1, 1), 7, padding=((0, 0), (0, 0))),
    "pointwise-strided-padded": convolution((1, 5, 6, 4), (1, 1), 3, strides=(2, 2)),
    "three-axes": convolution((1, 4, 5, 6, 2), (2, 3, 2), 3, strides=(1, 2, 1)),
}
PAIRS = [
    (case, lowering.name)
    for case, each in CASES.items()
    for lowering in candidates(each)
    if lowering.name != "direct"
]
# Winograd's long programs take most of the time; both sizes and most cases are in every run.
LONG = [pair for pair in PAIRS if "winograd" in pair[1]]
TRIED = [*(pair for pair in PAIRS if pair not in LONG), *thinned(LONG, 3)]


def operands(case: Convolution, seed: int = 7) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return (
        rng.standard_normal(case.input, dtype=np.float32),
        rng.standard_normal(case.kernel, dtype=np.float32),
    )


@pytest.mark.parametrize(("case", "name"), TRIED)
def test_should_compute_what_xla_does_when_lowered(case: str, name: str) -> None:
    described = CASES[case]
    image, kernel = operands(described)
    lowering = LOWERINGS[name]

    def lowered(image: jax.Array, kernel: jax.Array) -> jax.Array:
        return lowering.compute(image, lowering.prepare(kernel, described), described)

    wanted = LOWERINGS["direct"].compute(image, kernel, described)
    assert wanted.shape == described.output
    np.testing.assert_allclose(jax.jit(lowered)(image, kernel), wanted, rtol=2e-4, atol=2e-4)


def test_should_offer_each_lowering_when_the_cases_are_tried() -> None:
    assert {name for _, name in PAIRS} == set(LOWERINGS) - {"direct"}


@pytest.mark.parametrize("name", ["winograd2", "winograd4"])
def test_should_grow_the_kernel_as_said_when_prepared(name: str) -> None:
    described = CASES["plain-odd"]
    _, kernel = operands(described)
    prepared = LOWERINGS[name].prepare(kernel, described)
    assert prepared.size == pytest.approx(kernel.size * LOWERINGS[name].growth)


def test_should_add_exactly_when_depthwise_is_of_integers() -> None:
    described = dataclasses.replace(
        CASES["depthwise"], input_type="i8", kernel_type="i8", output_type="i32"
    )
    rng = np.random.default_rng(3)
    image = rng.integers(-128, 128, described.input).astype(np.int8)
    kernel = rng.integers(-128, 128, described.kernel).astype(np.int8)
    wanted = LOWERINGS["direct"].compute(image, kernel, described)
    actual = choose(described, {}).compute(image, kernel, described)
    assert actual.dtype == np.int32
    np.testing.assert_array_equal(actual, wanted)


def test_should_choose_shifted_products_when_nothing_was_measured() -> None:
    assert choose(CASES["depthwise-multiplier-3"], {}).name == "depthwise"
    assert choose(CASES["plain-odd"], {}).name == "direct"
    huge = convolution((1, 40, 40, 4), (15, 15), 4, groups=4)
    assert choose(huge, {}).name == "direct"


def test_should_be_the_same_when_written_as_json() -> None:
    for each in CASES.values():
        assert Convolution.from_json(dataclasses.asdict(each)) == each
    texts = {each.describe() for each in CASES.values()}
    assert len(texts) == len(CASES)


def program(case: Convolution, numbers: tuple[str, str, str], reverse: bool = False) -> str:
    """Lowers one convolution with a weight as its kernel, laid out as ``numbers`` says."""
    forms = [numbers[0].index(c) for c in "NHWC"], [numbers[1].index(c) for c in "HWIO"]
    image, kernel = (
        np.transpose(array, np.argsort(form))
        for array, form in zip(operands(case), forms, strict=True)
    )

    def forward(inputs: Arrays, weights: Arrays) -> Arrays:
        w = weights["w"]
        if reverse:
            w = lax.rev(w, [numbers[1].index("H")])
        return {
            "y": lax.conv_general_dilated(
                inputs["x"],
                w,
                case.strides,
                case.padding,
                case.input_dilation,
                case.kernel_dilation,
                numbers,
                case.groups,
            )
        }

    shape = jax.eval_shape(lambda x, w: forward({"x": x}, {"w": w})["y"], image, kernel).shape
    contract = Contract((TensorSpec("x", "f32", image.shape),), (TensorSpec("y", "f32", shape),))
    return lower_programs("conv", forward, contract, {"w": kernel})[KEY]


LAYOUTS = [("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW"), ("NCHW", "HWIO", "NHWC")]


REWRITTEN = [
    ("plain-asymmetric", "direct"),
    ("plain-asymmetric", "winograd4"),
    ("depthwise-multiplier-3", "depthwise"),
    ("grouped", "grouped-product"),
]


# The first of each three are every way once, and every layout.
IN_LAYOUTS = [(*each, LAYOUTS[(i + j) % 3]) for i, each in enumerate(REWRITTEN) for j in range(3)]


@pytest.mark.parametrize(("case", "name", "numbers"), thinned(IN_LAYOUTS, 3))
def test_should_keep_the_numbers_when_rewritten_in_a_program(
    case: str, name: str, numbers: tuple[str, str, str]
) -> None:
    described = CASES[case]
    text = program(described, numbers)
    (layer,) = layers({KEY: text})
    assert layer == described.layer
    image, kernel = operands(described)
    kernel = np.transpose(kernel, np.argsort(["HWIO".index(c) for c in "HWIO"]))
    kernel = np.transpose(kernel, ["HWIO".index(c) for c in numbers[1]])
    image = np.transpose(image, ["NHWC".index(c) for c in numbers[0]])
    optimised = optimise({KEY: text}, {"w": kernel}, 1, {layer: name})
    assert list(optimised.weights) == ["w"]
    assert ("stablehlo.convolution" in optimised.programs[KEY]) == (name == "direct")
    (wanted,) = run_program(text.encode(), [image, kernel])
    (actual,) = run(optimised, image)
    np.testing.assert_allclose(actual, wanted, rtol=2e-4, atol=2e-4)


def test_should_leave_other_platforms_xlas_own_when_the_cpu_has_another_form() -> None:
    described = CASES["depthwise"]
    text = program(described, LAYOUTS[1])
    image, kernel = operands(described)
    kernel = np.transpose(kernel, ["HWIO".index(c) for c in LAYOUTS[1][1]])
    image = np.transpose(image, ["NHWC".index(c) for c in LAYOUTS[1][0]])
    (wanted,) = run_program(text.encode(), [image, kernel])
    optimised = optimise_by_platform({KEY: text}, {"w": kernel}, 1)
    assert "stablehlo.convolution" in optimised.programs[KEY]
    assert "stablehlo.convolution" not in optimised.for_cpu[KEY]
    assert sum(each.size for each in optimised.weights.values()) == kernel.size
    for each in (optimised.programs[KEY], optimised.for_cpu[KEY]):
        (actual,) = run_program(each.encode(), [image, *optimised.weights.values()])
        np.testing.assert_allclose(actual, wanted, rtol=2e-4, atol=2e-4)


def test_should_have_one_program_when_the_cpus_form_would_add_to_the_weights() -> None:
    described = CASES["plain-odd"]
    _, kernel = operands(described)
    text = program(described, LAYOUTS[0])
    choices = {described.layer: "winograd2"}
    optimised = optimise_by_platform({KEY: text}, {"w": kernel}, 1, choices)
    assert optimised.programs == optimise({KEY: text}, {"w": kernel}, 1, choices).programs
    assert optimised.for_cpu == {}


def run(optimised: Optimised, *inputs: np.ndarray) -> list[np.ndarray]:
    return run_program(optimised.programs[KEY].encode(), [*inputs, *optimised.weights.values()])


def test_should_leave_no_mark_when_done() -> None:
    described = CASES["plain-odd"]
    text = program(described, LAYOUTS[0])
    _, kernel = operands(described)
    optimised = optimise({KEY: text}, {"w": kernel}, 1, {described.layer: "winograd2"})
    assert "roundhouse" not in optimised.programs[KEY]


def test_should_stay_xlas_own_when_the_kernel_is_an_input() -> None:
    described = CASES["plain-odd"]

    def forward(inputs: Arrays, weights: Arrays) -> Arrays:
        return {"y": LOWERINGS["direct"].compute(inputs["x"], inputs["k"], described)}

    contract = Contract(
        (TensorSpec("x", "f32", described.input), TensorSpec("k", "f32", described.kernel)),
        (TensorSpec("y", "f32", described.output),),
    )
    text = lower_programs("conv", forward, contract, {})[KEY]
    optimised = optimise({KEY: text}, {}, 2, {described.layer: "winograd4"})
    assert "stablehlo.convolution" in optimised.programs[KEY]
    assert optimised.weights == {}


def test_should_reverse_the_kernel_when_the_window_is_reversed() -> None:
    described = CASES["plain-odd"]
    text = program(described, LAYOUTS[0])
    assert "window = {pad = [[1, 1], [1, 1]]}" in text
    backwards = text.replace(
        "window = {pad = [[1, 1], [1, 1]]}",
        "window = {pad = [[1, 1], [1, 1]], reverse = [true, false]}",
    )
    image, kernel = operands(described)
    (wanted,) = run_program(backwards.encode(), [image, kernel])
    optimised = optimise({KEY: backwards}, {"w": kernel}, 1)
    np.testing.assert_array_equal(optimised.weights["w"], kernel[::-1])
    np.testing.assert_allclose(run(optimised, image)[0], wanted, rtol=1e-4, atol=1e-4)
