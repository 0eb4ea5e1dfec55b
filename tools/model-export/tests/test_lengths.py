"""What the server reads is written, and what it refuses is refused in its words."""

from pathlib import Path

import pytest
import yaml
from bundles import small_bundle

from roundhouse_export import lengths
from roundhouse_export.bundle import MANIFEST, Bundle, write_bundle
from roundhouse_export.contract import Contract, TensorSpec
from roundhouse_export.refusal import RefusedError
from roundhouse_export.stored import StoredBundle

PAD = {"ids": 7, "mask": -1.5, "bias": 0}


def contract(**changes: object) -> Contract:
    parts = {
        "inputs": (
            TensorSpec("ids", "i32", ("n", "s")),
            TensorSpec("mask", "f16", ("n", "s", "k")),
            TensorSpec("bias", "f32", ("n", "k")),
        ),
        "outputs": (
            TensorSpec("hidden", "f32", ("n", "s")),
            TensorSpec("sum", "f32", ("n", "k")),
            TensorSpec("best", "i32", ("n",)),
        ),
        "batch_sizes": (1,),
        "variants": ({"s": 16, "k": 2}, {"s": 128, "k": 2}),
        "pad": PAD,
        "trim": ("hidden",),
    }
    return Contract(**{**parts, **changes})


def bundle(of: Contract) -> Bundle:
    programs = {key: key.file_name.encode() for key in of.programs()}
    return small_bundle(contract=of, programs=programs, assets={})


def test_should_write_and_read_what_is_padded_and_cut_back(tmp_path: Path) -> None:
    write_bundle(bundle(contract()), tmp_path / "m")
    manifest = (tmp_path / "m" / MANIFEST).read_text()
    assert "pad: {ids: 7, mask: -1.5, bias: 0}\ntrim: [hidden]\nfiles:" in manifest
    stored = StoredBundle(tmp_path / "m").contract
    assert stored == contract()
    assert stored.padded_letters == {"s", "k"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"pad": {"ids": 7}},
            "pad leaves out input 'mask', which has an axis of [s] too; say what it is padded with",
        ),
        ({"pad": {**PAD, "ids": 7.5}}, "pad.ids is 7.5, which is no value of i32"),
        ({"pad": {**PAD, "ids": 3000000000}}, "which is no value of i32"),
        ({"pad": {**PAD, "mask": 70000}}, "which is no value of f16"),
        ({"pad": {**PAD, "ids": "x"}}, 'pad.ids is "x", not a number'),
        ({"pad": {**PAD, "ids": True}}, "pad.ids is true, not a number"),
        ({"pad": {**PAD, "bias": float("inf")}}, "pad.bias is inf, not a number"),
        (
            {"pad": {**PAD, "other": 1}},
            "pad.other is not an input; those are [ids, mask, bias]",
        ),
        ({"pad": 1, "trim": ()}, "pad is 1, not a mapping"),
        ({"trim": ("hidden", "none")}, "trim names 'none'; the outputs are [hidden, sum, best]"),
        ({"trim": ("hidden", "hidden")}, "trim names an output twice"),
        ({"trim": ("best",)}, "trim names output 'best', which has no padded axis"),
        ({"trim": "hidden"}, 'trim is "hidden", not a list'),
        ({"pad": {}}, "trim is there, but nothing is padded; say in pad what is"),
        (
            {
                "inputs": (TensorSpec("ids", "i32", ("n", 16)),),
                "outputs": (TensorSpec("best", "i32", ("n",)),),
                "variants": (),
                "pad": {"ids": 0},
                "trim": (),
            },
            "pad.ids has no variable axis, so there is nothing to pad",
        ),
    ],
)
def test_should_refuse_padding_that_cannot_be_done(
    changes: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError) as refusal:
        contract(**changes)
    assert message in str(refusal.value)


def test_should_refuse_a_bundle_whose_manifest_pads_what_it_cannot(tmp_path: Path) -> None:
    write_bundle(bundle(contract()), tmp_path / "m")
    path = tmp_path / "m" / MANIFEST
    manifest = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump({**manifest, "pad": {"ids": 7}}))
    with pytest.raises(RefusedError, match=r"manifest\.yaml: pad leaves out input 'mask'"):
        StoredBundle(tmp_path / "m")


@pytest.mark.parametrize(
    ("dtype", "taken", "refused"),
    [
        ("bool", [0, 1], [2, 0.5]),
        ("i8", [-128, 127], [-129, 128]),
        ("u8", [0, 255], [-1, 256]),
        ("u32", [2**32 - 1], [2**32]),
        ("i64", [2**53, -(2**53)], [2**53 + 2]),
        ("u64", [2**53], [-1, 2**54]),
        ("f16", [65504, -1e-9], [65520]),
        ("bf16", [3e38], [1e39]),
        ("f32", [-3.4e38], [1e39]),
        ("f64", [1e300], []),
        ("f8_e4m3", [], [0]),
    ],
)
def test_should_know_the_values_of_each_type(
    dtype: str, taken: list[float], refused: list[float]
) -> None:
    assert all(lengths.fits(dtype, value) for value in taken)
    assert not any(lengths.fits(dtype, value) for value in refused)
