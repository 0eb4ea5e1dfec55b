import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bundles import CONTRACT, small_bundle

from roundhouse_export import weights
from roundhouse_export.bundle import Bundle
from roundhouse_export.bundle_v2 import reverse_axes, write_bundle_v2
from roundhouse_export.contract import TensorSpec

OUTPUTS_WITHOUT_LABELS = (TensorSpec("scores", "f32", ("n", 2)),)

MANIFEST_TEXT = """\
format_version: '2.0'
name: m
description: a test
kind: model
executable_inputs:
- {name: ids, dtype: i32, shape: sn, dims: {s: -1}}
- {name: mask, dtype: bool, shape: asn, dims: {a: 3, s: -1}}
executable_outputs:
- {name: scores, dtype: f32, shape: an, dims: {a: 2}}
batching:
  compiled_batch_sizes: [1, 4]
input_shapes:
- {s: 16}
- {s: 32}
provenance:
  framework: none
  created: '2026-11-21T00:00:00Z'
"""


def bundle_v2(**changes: object) -> Bundle:
    return small_bundle(
        contract=replace(CONTRACT, outputs=OUTPUTS_WITHOUT_LABELS), assets={}, **changes
    )


def test_should_write_the_manifest_word_for_word(tmp_path: Path) -> None:
    write_bundle_v2(bundle_v2(), tmp_path / "m")
    assert (tmp_path / "m" / "manifest.yaml").read_text() == MANIFEST_TEXT


def test_should_move_bytes_when_a_matrix_is_reversed(tmp_path: Path) -> None:
    # Device [[0, 1, 2], [3, 4, 5]] is written with shape [3, 2], first column first.
    write_bundle_v2(bundle_v2(), tmp_path / "m")
    data = (tmp_path / "m" / "weights.safetensors").read_bytes()
    assert b'"shape":[3,2]' in data
    assert np.frombuffer(data[-24:], np.float32).tolist() == [0, 3, 1, 4, 2, 5]


def test_should_reverse_every_index_when_rank_is_four() -> None:
    device = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    stored = weights.decode(weights.encode({"w": reverse_axes(device)}))["w"]
    assert stored.shape == (5, 4, 3, 2)
    for index in itertools.product(*map(range, device.shape)):
        assert stored[index[::-1]] == device[index]


@pytest.mark.parametrize("shape", [(), (7,)])
def test_should_change_nothing_when_rank_is_below_two(shape: tuple[int, ...]) -> None:
    device = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    assert reverse_axes(device).tobytes() == device.tobytes()
    assert reverse_axes(device).shape == shape


def test_should_return_the_original_when_reversed_twice() -> None:
    device = np.arange(24).reshape(2, 3, 4)
    np.testing.assert_array_equal(reverse_axes(reverse_axes(device)), device)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (("n", "s", 0), r"format 2\.0 has no axes of extent 0"),
        (("n", "s", "s"), r"format 2\.0 needs distinct letters per axis"),
    ],
)
def test_should_refuse_when_the_format_cannot_say_it(
    tmp_path: Path, shape: tuple[int | str, ...], message: str
) -> None:
    inputs = (TensorSpec("ids", "i32", shape),)
    contract = replace(CONTRACT, inputs=inputs, outputs=OUTPUTS_WITHOUT_LABELS)
    with pytest.raises(ValueError, match=message):
        write_bundle_v2(small_bundle(contract=contract), tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_should_refuse_when_a_letter_would_mean_the_batch(tmp_path: Path) -> None:
    inputs = (TensorSpec("ids", "i32", ("n", "b")),)
    contract = replace(
        CONTRACT, inputs=inputs, outputs=OUTPUTS_WITHOUT_LABELS, variants=({"b": 1}, {"b": 2})
    )
    with pytest.raises(ValueError, match=r"mean the batch in format 2\.0"):
        write_bundle_v2(small_bundle(contract=contract), tmp_path / "m")


def test_should_refuse_when_an_output_has_labels(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"tensor 'scores': format 2\.0 has no labels"):
        write_bundle_v2(small_bundle(), tmp_path / "m")
