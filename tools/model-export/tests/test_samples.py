from pathlib import Path

import numpy as np
import pytest
import yaml

from roundhouse_export import samples
from roundhouse_export.samples import digits_data, digits_net
from roundhouse_export.samples.check import check_digests, check_programs, same
from roundhouse_export.samples.sample import COMMITTED_MODELS

# The last bits of training depend on the kind of processor: digits may differ elsewhere.
SAME_EVERYWHERE = [name for name in samples.NAMES if name != "digits"]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("name", SAME_EVERYWHERE)
def test_should_equal_the_committed_bundle_when_built(name: str, tmp_path: Path) -> None:
    samples.get(name).build(tmp_path / name)
    assert contents(tmp_path / name) == contents(COMMITTED_MODELS / name)


def test_should_train_to_the_same_bytes_when_built_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digits_net, "EPOCHS", 2)
    for attempt in ("first", "second"):
        samples.get("digits").build(tmp_path / attempt / "digits")
    first, second = (contents(tmp_path / attempt / "digits") for attempt in ("first", "second"))
    assert first == second


@pytest.mark.parametrize("name", samples.NAMES)
def test_should_answer_as_the_framework_does_when_run_from_files(name: str) -> None:
    checked = check_programs(samples.get(name), COMMITTED_MODELS)
    assert len(checked) == len(list((COMMITTED_MODELS / name).glob("model*.mlir")))
    assert [program for program in checked if not program.within_tolerance] == []


@pytest.mark.parametrize("name", samples.NAMES)
def test_should_match_its_digests_when_committed(name: str) -> None:
    assert check_digests(samples.get(name), COMMITTED_MODELS) == []


@pytest.mark.parametrize("name", [n for n in samples.NAMES if samples.get(n).contract.batched])
def test_should_answer_rows_alone_as_in_a_batch_when_batched(name: str) -> None:
    sample = samples.get(name)
    inputs = sample.example_inputs(np.random.default_rng(3), rows=3)
    together = sample.reference(inputs)
    for row in range(3):
        alone = sample.reference({key: value[row : row + 1] for key, value in inputs.items()})
        for key, value in alone.items():
            assert same(together[key][row : row + 1], value, sample.tolerance), (key, row)


def test_should_hold_the_same_numbers_when_affine_is_in_both_formats() -> None:
    new, old = samples.get("affine"), samples.get("affine-v2")
    assert list(new.weights()) == list(old.weights())
    for name, weight in new.weights().items():
        np.testing.assert_array_equal(old.weights()[name], weight)
    inputs = new.example_inputs(np.random.default_rng(5), rows=8)
    w, b = new.weights().values()
    np.testing.assert_allclose(new.reference(inputs)["y"], inputs["x"] @ w + b, rtol=1e-5)


def test_should_reach_the_stated_accuracy_when_digits_were_never_seen() -> None:
    manifest = yaml.safe_load((COMMITTED_MODELS / "digits" / "manifest.yaml").read_text())
    unseen = np.load(COMMITTED_MODELS.parent / "digits" / "heldout.npz")
    pixels = (unseen["pixels"] / np.float32(16))[..., None].astype(np.float32)
    scores = samples.get("digits").reference({"pixels": pixels})["scores"]
    accuracy = (scores.argmax(axis=1) == unseen["labels"]).mean()
    assert f"{accuracy:.4f}" == manifest["provenance"]["accuracy"]
    assert accuracy >= 0.98
    np.testing.assert_allclose(scores.sum(axis=1), 1, rtol=1e-5)


def test_should_hold_out_what_training_never_sees() -> None:
    training, unseen = digits_data.training_images(), digits_data.held_out_images()
    assert not set(training.indices) & set(unseen.indices)
    assert len(training.labels) + len(unseen.labels) == 1797
    stored = np.load(COMMITTED_MODELS.parent / "digits" / "heldout.npz")
    for field in ("pixels", "labels", "indices"):
        np.testing.assert_array_equal(stored[field], getattr(unseen, field))


def test_should_stay_small_when_committed() -> None:
    files = [path for path in COMMITTED_MODELS.parent.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 2_000_000


def test_should_have_a_module_when_committed() -> None:
    folders = {path.name for path in COMMITTED_MODELS.iterdir() if path.is_dir()}
    assert folders == set(samples.NAMES)
