"""Measuring on jaxlib's own CPU, and on the plugin that ROUNDHOUSE_TEST_PLUGIN names."""

import json
import os
import re
import sys
import time
from pathlib import Path

import jax
import numpy as np
import pytest
from jax import lax
from thinning import WITH_ALL

from roundhouse_export.contract import Contract, ProgramKey, TensorSpec
from roundhouse_export.jax_program import Arrays, lower_programs
from roundhouse_export.model import Model
from roundhouse_export.passes import layers, optimise
from roundhouse_export.pipeline import export_model
from roundhouse_export.refusal import RefusedError
from roundhouse_export.tune import cache, tune, tuning
from roundhouse_export.tune.cache import Cache, default_folder

PLUGIN = os.environ.get("ROUNDHOUSE_TEST_PLUGIN")
WEIGHTS = {
    "depthwise": np.ones((3, 3, 1, 64), np.float32),
    "dense": np.ones((3, 3, 64, 8), np.float32),
}
CONTRACT = Contract(
    (TensorSpec("x", "f32", ("n", 24, 24, 64)),),
    (TensorSpec("y", "f32", ("n", 24, 24, 8)),),
    (1, 2),
)


def forward(inputs: Arrays, weights: Arrays) -> Arrays:
    numbers = ("NHWC", "HWIO", "NHWC")
    y = lax.conv_general_dilated(
        inputs["x"],
        weights["depthwise"],
        (1, 1),
        "SAME",
        dimension_numbers=numbers,
        feature_group_count=64,
    )
    y = jax.nn.relu(y)
    return {
        "y": lax.conv_general_dilated(
            y, weights["dense"], (1, 1), "SAME", dimension_numbers=numbers
        )
    }


@pytest.fixture(scope="module")
def lowered() -> dict[ProgramKey, str]:
    return lower_programs("net", forward, CONTRACT, WEIGHTS)


def tune_on(plugin: Path | None, lowered: dict[ProgramKey, str], folder: Path) -> None:
    tuned = tune(lowered, plugin, folder)
    by_kernel = {layer.kernel: choice for layer, choice in tuned.choices.items()}
    assert by_kernel[(3, 3, 1, 64)] == "depthwise"
    assert set(by_kernel) == {(3, 3, 1, 64), (3, 3, 64, 8)}
    assert len(tuned.milliseconds) == 4
    assert all(time > 0 for times in tuned.milliseconds.values() for time in times.values())
    assert "1 depthwise" in tuned.facts["convolutions"]
    assert "cores" in tuned.facts["tuned_on"]
    assert optimise(lowered, WEIGHTS, 1, tuned.choices).weights.keys() == WEIGHTS.keys()


# The plugin is what serves; jaxlib's own CPU is measured besides, or where there is none.
MEASURED = [
    pytest.param(None, marks=WITH_ALL if PLUGIN else ()),
    pytest.param(
        PLUGIN,
        marks=pytest.mark.skipif(not PLUGIN, reason="ROUNDHOUSE_TEST_PLUGIN names no plugin"),
    ),
]


@pytest.mark.parametrize("plugin", MEASURED)
def test_should_find_depthwise_and_remember_it_when_measured(
    plugin: str | None,
    lowered: dict[ProgramKey, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    library = Path(plugin) if plugin else None
    monkeypatch.delenv("XLA_FLAGS", raising=False)  # times of what serves
    tune_on(library, lowered, tmp_path)

    def not_again(*_: object) -> None:
        raise AssertionError("measured what was measured before")

    monkeypatch.setattr(tuning, "_measure", not_again)
    tune_on(library, lowered, tmp_path)


def fixed(monkeypatch: pytest.MonkeyPatch, times: dict[str, float]) -> None:
    def measure(convolutions: list, plugin: Path | None) -> tuple[dict[str, dict[str, float]], str]:
        return {
            each.describe(): {n: t for n, t in times.items() if each.groups == 1 or n == "direct"}
            for each in convolutions
        }, ""

    monkeypatch.setattr(tuning, "_measure", measure)


@pytest.mark.parametrize(
    ("times", "wanted"),
    [
        ({"direct": 1.0, "im2col": 0.97, "winograd2": 0.9}, "direct"),
        ({"direct": 1.0, "im2col": 0.9, "winograd2": 0.8}, "im2col"),
        ({"direct": 1.0, "im2col": 0.9, "winograd2": 0.7}, "winograd2"),
        ({"direct": 1.0, "winograd2": 0.5, "winograd4": 0.45}, "winograd2"),
        ({"direct": 1.0, "winograd4": 0.3}, "winograd4"),
    ],
)
def test_should_want_more_gain_for_more_memory_when_choosing(
    times: dict[str, float],
    wanted: str,
    lowered: dict[ProgramKey, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fixed(monkeypatch, times)
    choices = tune(lowered, None, tmp_path).choices
    assert {layer.groups: choice for layer, choice in choices.items()} == {64: "direct", 1: wanted}


def test_should_measure_again_when_the_cache_is_damaged_or_of_another_processor(
    lowered: dict[ProgramKey, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fixed(monkeypatch, {"direct": 1.0})
    tune(lowered, None, tmp_path)
    (file,) = tmp_path.iterdir()
    assert len(json.loads(file.read_text())["milliseconds"]) == 4
    file.write_text("{")
    tune(lowered, None, tmp_path)
    assert len(json.loads(file.read_text())["milliseconds"]) == 4
    monkeypatch.setattr(tuning, "processor", lambda: "another")
    tune(lowered, None, tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def test_should_lie_where_the_variable_says_when_it_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUNDHOUSE_CACHE", str(tmp_path))
    assert default_folder() == tmp_path / "tuning"
    monkeypatch.delenv("ROUNDHOUSE_CACHE")
    assert default_folder() == Path.home() / ".cache/roundhouse/tuning"


def test_should_join_what_is_there_when_more_is_added(tmp_path: Path) -> None:
    kept = Cache(tmp_path, "p", "q")
    kept.add({"a": {"direct": 1.0}})
    cache.Cache(tmp_path, "p", "q").add({"b": {"direct": 2.0}})
    assert kept.read() == {"a": {"direct": 1.0}, "b": {"direct": 2.0}}


def test_should_refuse_in_a_line_when_the_plugin_is_none(
    lowered: dict[ProgramKey, str], tmp_path: Path
) -> None:
    with pytest.raises(RefusedError, match=r"absent\.so: the plugin cannot be read .*name its"):
        tune(lowered, tmp_path / "absent.so", tmp_path)
    (tmp_path / "text.so").write_text("no library")
    with pytest.raises(
        RefusedError,
        match=r"text\.so: timing ended at the convolution 1x24x24x64.*text\.so.*; export",
    ):
        tune(lowered, tmp_path / "text.so", tmp_path)


HANGS = """
import json, sys, time
first = json.load(sys.stdin)["convolutions"][0]
print(json.dumps({"convolution": sys.argv[1], "milliseconds": {"direct": 1.0, "depthwise": 9.0}}))
sys.stdout.flush()
time.sleep(600)
"""


def test_should_end_a_timing_that_hangs_and_leave_the_rest_untuned(
    lowered: dict[ProgramKey, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = [each for layer in layers(lowered).values() for each in layer]
    timed = next(each for each in sizes if each.groups == 64).describe()
    monkeypatch.setattr(tuning, "_COMMAND", (sys.executable, "-c", HANGS, timed))
    monkeypatch.setattr(tuning, "_MOST_SILENT_SECONDS", 2.0)
    began = time.monotonic()
    tuned = tune(lowered, None, tmp_path)
    assert time.monotonic() - began < 60
    assert tuned.choices == {}  # one of its two batch sizes has no times
    assert set(tuned.milliseconds) == {timed}
    assert re.fullmatch(
        r"timing the convolution 2x24x24x64.* was ended after 2 s without a result; 3 of 4 are "
        r"computed as without tuning|timing the convolution 1x24.*; 3 of 4 .*",
        tuned.stopped,
    )
    rewritten = optimise(lowered, WEIGHTS, 1, tuned.choices)
    assert rewritten.programs == optimise(lowered, WEIGHTS, 1).programs


def test_should_write_the_bundle_and_say_why_when_timing_hangs(
    lowered: dict[ProgramKey, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUNDHOUSE_CACHE", str(tmp_path))
    silent = (sys.executable, "-c", "import time; time.sleep(600)")
    monkeypatch.setattr(tuning, "_COMMAND", silent)
    monkeypatch.setattr(tuning, "_MOST_SILENT_SECONDS", 1.0)
    (tmp_path / "plugin.so").write_bytes(b"")
    model = Model("net", CONTRACT, forward, WEIGHTS, "none")
    bundle = export_model(model, tmp_path / "net", plugin=tmp_path / "plugin.so")
    assert bundle.provenance["tuning_stopped"].endswith(
        "was ended after 1 s without a result; 4 of 4 are computed as without tuning"
    )
    assert (tmp_path / "net" / "model.b1.mlir").is_file()
