from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from roundhouse_export import samples, sources, weights
from roundhouse_export.bundle import MANIFEST, Bundle, digest_problems
from roundhouse_export.bundle_v2 import write_bundle_v2
from roundhouse_export.contract import Contract, ProgramKey, TensorSpec
from roundhouse_export.convert_2 import convert
from roundhouse_export.jax_program import Encoding, export_programs
from roundhouse_export.model import ImportOptions
from roundhouse_export.program_runner import run_program
from roundhouse_export.refusal import RefusedError

AFFINE_V2 = Path(__file__).parents[3] / "examples" / "models" / "affine-v2"
OPTIONS = ImportOptions()
CONTRACT = Contract(
    inputs=(TensorSpec("x", "f32", ("n", "s", 3)),),
    outputs=(TensorSpec("y", "f32", ("n", "s", 2)), TensorSpec("rows", "i32", ("n",))),
    batch_sizes=(1, 2),
    variants=({"s": 4}, {"s": 5}),
)
WEIGHTS = {"w": np.arange(6, dtype=np.float32).reshape(3, 2), "b": np.float32([7, 8])}


def forward(inputs, held):
    y = inputs["x"] @ held["w"] + held["b"]
    return {"y": y, "rows": y[:, 0, 0].astype("int32")}


@pytest.fixture(scope="module")
def programs() -> dict[ProgramKey, bytes]:
    return export_programs("net", forward, CONTRACT, WEIGHTS, Encoding.ARTIFACT)


@pytest.fixture
def old(tmp_path: Path, programs: dict[ProgramKey, bytes]) -> Path:
    facts = {"framework": "jax", "created": "2026-11-21T00:00:00Z"}
    bundle = Bundle(CONTRACT, "a net", programs, WEIGHTS, facts, {"vocab.txt": b"a\n"})
    write_bundle_v2(bundle, tmp_path / "old")
    return tmp_path / "old"


def rewrite(folder: Path, **changes: object) -> None:
    manifest = yaml.safe_load((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(yaml.safe_dump({**manifest, **changes}, sort_keys=False))


def test_should_run_the_sample_to_the_same_numbers(tmp_path: Path) -> None:
    bundle = convert(AFFINE_V2, tmp_path / "affine", OPTIONS)
    sample = samples.get("affine-v2")
    stored = weights.decode((tmp_path / "affine" / weights.FILE_NAME).read_bytes())
    assert {n: a.shape for n, a in stored.items()} == {
        n: a.shape for n, a in bundle.weights.items()
    }
    for rows in (1, 4, 8):
        inputs = sample.example_inputs(np.random.default_rng(rows), rows=rows)
        code = (tmp_path / "affine" / f"model.b{rows}.mlir").read_bytes()
        assert code == (AFFINE_V2 / f"model.b{rows}.mlir").read_bytes()
        (got,) = run_program(code, [*inputs.values(), *stored.values()])
        np.testing.assert_allclose(got, sample.reference(inputs)["y"], rtol=1e-6, atol=1e-6)


def test_should_say_the_same_contract_as_the_sample_in_format_3(tmp_path: Path) -> None:
    convert(AFFINE_V2, tmp_path / "affine", OPTIONS)
    ours = yaml.safe_load((tmp_path / "affine" / MANIFEST).read_text())
    theirs = yaml.safe_load((AFFINE_V2.parent / "affine" / MANIFEST).read_text())
    for key in ("format_version", "kind", "inputs", "outputs", "batch_sizes"):
        assert ours[key] == theirs[key]
    assert ours["provenance"]["created"] == "2026-11-21T00:00:00Z"
    assert ours["provenance"]["converted_from"].startswith("format 2.0")
    assert digest_problems(tmp_path / "affine") == []


def test_should_turn_letters_variants_and_assets(
    old: Path, tmp_path: Path, programs: dict[ProgramKey, bytes]
) -> None:
    bundle = convert(old, tmp_path / "new", OPTIONS)
    assert bundle.contract == CONTRACT
    assert bundle.programs == programs
    assert (tmp_path / "new" / "vocab.txt").read_bytes() == b"a\n"
    np.testing.assert_array_equal(bundle.weights["w"], WEIGHTS["w"])


def test_should_rename_axes_that_format_3_has_no_letters_for(old: Path, tmp_path: Path) -> None:
    text = (old / MANIFEST).read_text()
    text = text.replace("asn", "aSb").replace("s: -1", "S: -1").replace("{s: ", "{S: ")
    (old / MANIFEST).write_text(text)
    assert convert(old, tmp_path / "new", OPTIONS).contract == CONTRACT


def test_should_ask_a_program_for_its_rows_when_its_name_says_none(tmp_path: Path) -> None:
    contract = replace(
        CONTRACT,
        inputs=(TensorSpec("x", "f32", ("n", 4, 3)),),
        outputs=(TensorSpec("y", "f32", ("n", 4, 2)), CONTRACT.outputs[1]),
        batch_sizes=(6,),
        variants=(),
    )
    made = export_programs("net", forward, contract, WEIGHTS, Encoding.ARTIFACT)
    write_bundle_v2(Bundle(contract, "", made, WEIGHTS, {}), tmp_path / "old")
    (tmp_path / "old" / "model.b6.mlir").rename(tmp_path / "old" / "model.mlir")
    rewrite(tmp_path / "old", batching={})
    bundle = convert(tmp_path / "old", tmp_path / "new", OPTIONS)
    assert bundle.contract.batch_sizes == (6,)
    assert (tmp_path / "new" / "model.b6.mlir").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format_version": "3"}, "format_version is 3; convert takes 2.0"),
        ({"kind": "meta"}, "kind is meta"),
        ({"client_inputs": []}, "code of its own"),
        ({"executable_inputs": []}, "executable_inputs is missing or empty"),
        ({"batching": {"compiled_batch_sizes": [1, 2, 3]}}, r"no file for batch sizes \[3\]"),
        ({"batching": {"compiled_batch_sizes": [0]}}, "sizes are 1 or more"),
        ({"input_shapes": [{"t": 4}]}, r"input_shapes has \{'t': 4\}; it sizes \['s'\]"),
        ({"input_shapes": [{"s": 4}]}, "programs are .*; the contract asks"),
        (
            {"executable_inputs": [{"name": "x", "dtype": "f32", "shape": "na", "dims": {"a": 3}}]},
            "is not its slowest axis",
        ),
        (
            {"executable_inputs": [{"name": "x", "dtype": "f32", "shape": "asn", "dims": {}}]},
            "tensor 'x' has no size for axis 's'",
        ),
        (
            {
                "executable_inputs": [
                    {"name": "x", "dtype": "i32", "shape": "asn", "dims": {"a": 3, "s": -1}}
                ]
            },
            r"@main has f32\[1, 4, 3\] for 'x'; manifest and weights say i32\[1, 4, 3\]",
        ),
    ],
)
def test_should_refuse_in_one_line(
    old: Path, tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    rewrite(old, **changes)
    with pytest.raises(RefusedError, match=message) as told:
        convert(old, tmp_path / "new", OPTIONS)
    assert "\n" not in str(told.value)
    assert not (tmp_path / "new").exists()


def test_should_refuse_weights_that_the_programs_do_not_take(old: Path, tmp_path: Path) -> None:
    (old / weights.FILE_NAME).write_bytes(weights.encode({"w": WEIGHTS["w"]}))
    with pytest.raises(RefusedError, match="@main has 3 arguments; manifest and weights ask for 2"):
        convert(old, tmp_path / "new", OPTIONS)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("model.v0.b1.mlir", b"nothing", "is no StableHLO that this release reads"),
        (weights.FILE_NAME, b"nothing", "weights.safetensors: "),
        (MANIFEST, b"{", "is no YAML in line"),
        ("model.jl", b"", "code of its own"),
    ],
)
def test_should_name_the_file_that_is_damaged(
    old: Path, tmp_path: Path, name: str, data: bytes, message: str
) -> None:
    (old / name).write_bytes(data)
    with pytest.raises(RefusedError, match=message) as told:
        convert(old, tmp_path / "new", OPTIONS)
    assert "\n" not in str(told.value)


def test_should_refuse_shapes_of_a_person(old: Path, tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="--input and --axis do not change them"):
        convert(old, tmp_path / "new", ImportOptions(axes={"s": (4,)}))


def test_should_replace_neither_the_old_bundle_nor_what_is_none(old: Path, tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="the new bundle would replace it"):
        convert(old, tmp_path / "old", OPTIONS)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letters.txt").write_text("dear")
    with pytest.raises(RefusedError, match="home is there and is no bundle"):
        convert(old, tmp_path / "home", OPTIONS)
    assert (tmp_path / "home" / "letters.txt").exists()


def test_should_say_which_command_converts() -> None:
    with pytest.raises(RefusedError, match=r"roundhouse-export convert .*affine-v2 --out DIR"):
        sources.load(str(AFFINE_V2), OPTIONS)
