"""What is near passes, what is not is named with its coordinates."""

import hashlib
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import yaml

from roundhouse_export import validation
from roundhouse_export.command import main
from roundhouse_export.contract import Contract, TensorSpec
from roundhouse_export.model import Model
from roundhouse_export.pipeline import export_model
from roundhouse_export.refusal import RefusedError
from roundhouse_export.stored import StoredBundle

WEIGHTS = {"w": np.random.default_rng(3).standard_normal((16, 4)).astype(np.float32)}


def reference(inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    product = inputs["x"].astype(np.float64) @ WEIGHTS["w"].astype(np.float64)
    return {"y": product.astype(np.float32), "best": product.argmax(1).astype(np.int32)}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def forward(inputs: Mapping, weights: Mapping) -> dict:
        y = inputs["x"] @ weights["w"]
        return {"y": y, "best": y.argmax(1).astype("int32")}

    contract = Contract(
        (TensorSpec("x", "f32", ("n", 16)),),
        (TensorSpec("y", "f32", ("n", 4)), TensorSpec("best", "i32", ("n",))),
        (1, 8),
    )
    folder = tmp_path_factory.mktemp("models") / "product"
    export_model(Model("product", contract, forward, WEIGHTS, "none"), folder)
    return folder


def test_should_find_a_right_bundle_near_for_every_kind_of_inputs(bundle: Path) -> None:
    findings = validation.against_reference(bundle, reference)
    assert {each.program for each in findings} == {"model.b1.mlir", "model.b8.mlir"}
    assert {each.inputs for each in findings} == {
        "random",
        "uniform",
        "zeros",
        "large",
        "denormal",
    }
    assert all(each.is_near for each in findings)


def test_should_name_the_element_that_is_furthest_off(bundle: Path) -> None:
    def wrong(inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        answers = reference(inputs)
        if len(answers["y"]) == 8 and answers["y"].any():
            answers["y"][5, 2] += 0.01 * np.abs(answers["y"]).max()
        return answers

    off = [each for each in validation.against_reference(bundle, wrong) if not each.is_near]
    assert off
    assert {(each.program, each.output, each.worst) for each in off} == {
        ("model.b8.mlir", "y", (5, 2))
    }
    assert "[5,2] is " in validation.rendered(off)


def test_should_want_integers_equal(bundle: Path) -> None:
    def wrong(inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {**reference(inputs), "best": np.full(len(inputs["x"]), 7, np.int32)}

    off = [each for each in validation.against_reference(bundle, wrong) if not each.is_near]
    assert {each.output for each in off} == {"best"}


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_should_not_take_a_number_for_what_is_none(value: float) -> None:
    spec = TensorSpec("y", "f32", (2,))
    good = np.ones(2, np.float32)
    bad = np.array([1, value], np.float32)
    assert not validation.compared("p", "k", spec, bad, good, 1).is_near
    assert not validation.compared("p", "k", spec, good, bad, 1).is_near
    assert validation.compared("p", "k", spec, bad, bad, 1).is_near


@pytest.mark.parametrize(
    ("kind", "moved", "is_wrong"),
    [("large", 0.01, False), ("large", 1e-4, True), ("random", 0.01, True)],
)
def test_should_not_call_wrong_what_the_last_place_of_weights_decides(
    kind: str, moved: float, is_wrong: bool
) -> None:
    spec = TensorSpec("y", "f32", (2,))
    got, wanted = np.array([1, 0.95], np.float32), np.array([1, 1], np.float32)
    found = validation.compared("p", kind, spec, got, wanted, 1, moved=moved)
    assert not found.is_near
    assert found.is_wrong == is_wrong
    assert found.is_unsteady == (not is_wrong)
    told = validation.rendered([found])
    assert ("WRONG" in told) == is_wrong
    assert ("frameworks differ there" in told) == (not is_wrong)


def test_should_refuse_what_is_no_bundle_or_has_been_changed(bundle: Path, tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match=r"no manifest\.yaml, so this is no bundle"):
        StoredBundle(tmp_path)
    changed = tmp_path / "changed"
    changed.mkdir()
    for each in bundle.iterdir():
        (changed / each.name).write_bytes(each.read_bytes())
    program = changed / "model.b1.mlir"
    program.write_bytes(program.read_bytes() + b"x")
    with pytest.raises(RefusedError, match=r"model\.b1\.mlir: sha256 is "):
        StoredBundle(changed)


def inputs_by_kind(
    folder: Path, forward: Callable[..., Any], *specs: TensorSpec
) -> dict[str, dict[str, np.ndarray]]:
    contract = Contract(specs, (TensorSpec("y", "f32", ("n", 4)),), (64,))
    model = Model("indexed", contract, forward, {"w": np.ones((300, 4), np.float32)}, "none")
    export_model(model, folder / "indexed")
    stored = StoredBundle(folder / "indexed")
    (key,) = stored.contract.programs()
    return dict(validation.kinds_of_inputs(stored, key))


def test_should_not_compare_programs_with_what_a_server_makes_of_them(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hooked = shutil.copytree(bundle, tmp_path / "hooked")
    code = hooked / "Model.java"
    code.write_text("class Model implements dev.roundhouse.hooks.ModelHooks {}")
    manifest = yaml.safe_load((hooked / "manifest.yaml").read_text())
    manifest["files"]["Model.java"] = hashlib.sha256(code.read_bytes()).hexdigest()
    (hooked / "manifest.yaml").write_text(yaml.safe_dump(manifest))
    assert main(["validate", str(hooked), "--against", "http://127.0.0.1:1"]) == 2
    assert "what Model.java makes of the programs' outputs" in capsys.readouterr().err


def test_should_refuse_what_has_no_programs(bundle: Path, tmp_path: Path) -> None:
    meta = shutil.copytree(bundle, tmp_path / "meta")
    manifest = yaml.safe_load((meta / "manifest.yaml").read_text())
    (meta / "manifest.yaml").write_text(yaml.safe_dump(manifest | {"kind": "meta"}))
    with pytest.raises(RefusedError, match="of kind meta, which has no programs of its own"):
        StoredBundle(meta)


def test_should_stay_within_the_table_when_integers_are_indices(tmp_path: Path) -> None:
    def forward(inputs: Mapping, weights: Mapping) -> dict:
        w = weights["w"]
        word, place = w[inputs["word"]], jnp.take(w[:7], inputs["place"], axis=0)
        return {"y": word + place + w[2 * inputs["twice"]] + inputs["x"]}

    given = inputs_by_kind(
        tmp_path,
        forward,
        TensorSpec("word", "i64", ("n",)),
        TensorSpec("place", "i32", ("n",)),
        TensorSpec("twice", "i32", ("n",)),
        TensorSpec("x", "f32", ("n", 4)),
    )
    for each in given.values():
        assert all(each[name].min() >= 0 for name in ("word", "place", "twice"))
    assert 200 < given["random"]["word"].max() < 300
    assert 200 < given["large"]["word"].max() < 300
    assert given["random"]["place"].max() == 6
    assert given["random"]["twice"].max() == 1  # nobody knows what twice of it indexes
    assert "bits" not in given  # nothing is a mask


@pytest.mark.parametrize("as_weight", [True, False])
def test_should_take_one_hot_vectors_for_indices_and_masks_for_none(
    tmp_path: Path, as_weight: bool
) -> None:
    def forward(inputs: Mapping, weights: Mapping) -> dict:
        places = np.arange(40, dtype=np.int32)[None] if as_weight else jnp.arange(40)
        hot = (inputs["byte"][:, None] == places).astype("float32")
        kept = (inputs["mask"] == 0)[:, None]
        return {"y": jnp.where(kept, hot @ weights["w"][:40], 0.0)}

    given = inputs_by_kind(
        tmp_path, forward, TensorSpec("byte", "i32", ("n",)), TensorSpec("mask", "i32", ("n",))
    )
    assert 30 < given["random"]["byte"].max() < 40
    assert 30 < given["bits"]["byte"].max() < 40
    assert set(given["random"]["mask"].tolist()) == set(range(10))
    assert set(given["bits"]["mask"].tolist()) == {0, 1}


def test_should_be_zero_when_there_is_one_place(tmp_path: Path) -> None:
    def forward(inputs: Mapping, weights: Mapping) -> dict:
        return {"y": weights["w"][:1][inputs["only"]]}

    given = inputs_by_kind(tmp_path, forward, TensorSpec("only", "i32", ("n",)))
    assert not any(each["only"].any() for each in given.values())


def test_should_take_small_integers_and_bits_when_nothing_is_indexed(tmp_path: Path) -> None:
    def forward(inputs: Mapping, weights: Mapping) -> dict:
        sums = inputs["mask"] + inputs["pixel"].astype("int64") + inputs["shift"]
        return {"y": sums[:, None] * weights["w"][0] + inputs["on"][:, None]}

    given = inputs_by_kind(
        tmp_path,
        forward,
        TensorSpec("mask", "i64", ("n",)),
        TensorSpec("pixel", "u8", ("n",)),
        TensorSpec("shift", "i8", ("n",)),
        TensorSpec("on", "bool", ("n",)),
    )
    assert set(given["random"]["mask"].tolist()) == set(range(10))
    assert given["random"]["pixel"].max() > 200
    assert given["random"]["shift"].min() < -100
    assert set(given["bits"]["mask"].tolist()) == {0, 1}
    assert given["uniform"]["mask"].all()
