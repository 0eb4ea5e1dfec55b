"""Every sample bundle, over the wire, against the framework that made it."""

import numpy as np
import pytest
import tritonclient.grpc as triton
import yaml
from ml_dtypes import bfloat16
from roundhouse_export import samples

from calls import arrays, infer
from worker_process import SAMPLE_MODELS

# Largest relative and absolute difference that a right answer may show. Sums are taken in another order than JAX's.
TOLERANCE = {np.dtype(np.float32): 1e-5, np.dtype(bfloat16): 2**-7}

CASES = [
    (name, variant, rows)
    for name in samples.NAMES
    for variant in range(max(1, len(samples.get(name).contract.variants)))
    # 1 and 4 are compiled everywhere; 2 and 3 need padding in some model; 19 run piece by piece in most.
    for rows in ((1, 2, 3, 4, 19) if samples.get(name).contract.batched else (1,))
]


@pytest.mark.parametrize(("name", "variant", "rows"), CASES)
def test_should_answer_as_the_framework_does_when_rows_need_padding_or_pieces(
    client: triton.InferenceServerClient, name: str, variant: int, rows: int
) -> None:
    sample = samples.get(name)
    inputs = sample.example_inputs(np.random.default_rng([rows, variant]), rows, variant)
    answers = arrays(infer(client, name, inputs))
    expected = sample.reference(inputs)
    assert list(answers) == list(expected)
    for output, value in expected.items():
        assert answers[output].shape == value.shape, output
        assert answers[output].dtype == value.dtype, output
        assert_close(answers[output], value, 0 if sample.tolerance == 0 else TOLERANCE[value.dtype])


@pytest.mark.parametrize("rows", [5, 15, 16, 17, 63, 64, 65, 200])
def test_should_answer_as_the_framework_does_when_digits_come_in_bulk(
    client: triton.InferenceServerClient, rows: int
) -> None:
    sample = samples.get("digits")
    inputs = sample.example_inputs(np.random.default_rng(rows), rows)
    answers = arrays(infer(client, "digits", inputs))
    assert_close(answers["scores"], sample.reference(inputs)["scores"], sample.tolerance)


def test_should_reach_the_stated_accuracy_when_digits_are_classified(client: triton.InferenceServerClient) -> None:
    manifest = yaml.safe_load((SAMPLE_MODELS / "digits" / "manifest.yaml").read_text())
    unseen = np.load(SAMPLE_MODELS.parent / "digits" / "heldout.npz")
    pixels = (unseen["pixels"] / np.float32(16)).astype(np.float32)[..., None]
    predicted = np.concatenate(
        [infer(client, "digits", {"pixels": chunk}).as_numpy("scores").argmax(axis=1) for chunk in np.split(pixels, 12)]
    )
    accuracy = (predicted == unseen["labels"]).mean()
    assert f"{accuracy:.4f}" == manifest["provenance"]["accuracy"]


def assert_close(actual: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    if tolerance == 0:
        np.testing.assert_array_equal(actual, expected)
    else:
        wide = (actual.astype(np.float64), expected.astype(np.float64))
        np.testing.assert_allclose(*wide, rtol=tolerance, atol=tolerance)
