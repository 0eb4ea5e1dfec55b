"""What is told of TorchScript in a repository of Triton's before PyTorch is there."""

import sys
import zipfile
from pathlib import Path

import pytest
from triton_models import refused, write_model, write_onnx

from roundhouse_export import sources
from roundhouse_export.model import ImportOptions
from roundhouse_export.refusal import RefusedError
from roundhouse_export.repository import Row, Status, convert_repository
from roundhouse_export.triton import script_names
from roundhouse_export.triton.folder import open_folder
from roundhouse_export.triton.model_config import load_version, signature_of
from roundhouse_export.triton.signature import SignatureTensor

CONFIG = """\
platform: "pytorch_libtorch"
max_batch_size: 8
input { name: "INPUT__0" data_type: TYPE_FP32 dims: [ 4 ] }
input { name: "INPUT__1" data_type: TYPE_INT64 dims: [ -1, 2 ] }
output { name: "OUTPUT__0" data_type: TYPE_FP32 dims: [ 3 ] }
"""
FILE = Path("model.pt")


def write_script(folder: Path, config: str | None, file: str = "model.pt") -> Path:
    """A file that looks like one of TorchScript from outside."""
    (folder / "1").mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / "1" / file, "w") as archive:
        archive.writestr("model/constants.pkl", b"")
    if config is not None:
        (folder / "config.pbtxt").write_text(config)
    return folder


def refusal(folder: Path, **options: object) -> str:
    return refused(folder, lambda: load_version(open_folder(folder), 1, ImportOptions(**options)))


def names(section: str, *given: str, more: str = "") -> str:
    """A configuration with inputs or outputs of these names, each on its line."""
    return "\n".join([*(f'{section} {{ name: "{name}" }}' for name in given), more])


def arguments_of(tmp_path: Path, config: str, *arguments: str) -> dict[str, str]:
    folder = write_script(tmp_path / "m", config)
    needed = [each for each in arguments if not each.startswith("maybe")]
    found = script_names.arguments_of(open_folder(folder).config, FILE, arguments, needed)
    return {name: arguments[position] for name, position in found.of.items()}


def results_of(tmp_path: Path, config: str, count: int) -> script_names.Positions:
    folder = open_folder(write_script(tmp_path / "m", config))
    return script_names.results_of(folder.config, FILE, count)


def test_should_take_types_and_shapes_from_the_configuration(tmp_path: Path) -> None:
    folder = open_folder(write_script(tmp_path / "m", CONFIG))
    signature = signature_of(folder, 1)
    assert signature.file == folder.path / "1" / "model.pt"
    assert signature.inputs == (
        SignatureTensor("INPUT__0", "f32", (None, 4)),
        SignatureTensor("INPUT__1", "i64", (None, None, 2)),
    )
    assert signature.axis_keys == {"INPUT__0.0", "INPUT__1.0", "INPUT__1.1"}


def test_should_read_a_file_of_another_name(tmp_path: Path) -> None:
    config = CONFIG + 'default_model_filename: "net.pt"'
    folder = write_script(tmp_path / "m", config, "net.pt")
    assert open_folder(folder).model_file(1).name == "net.pt"
    (folder / "1" / "net.pt").unlink()
    (folder / "1" / "net.pt").mkdir()
    assert refusal(folder) == "config.pbtxt:6: version 1 has no file 1/net.pt"


def test_should_know_what_the_server_feeds(tmp_path: Path) -> None:
    more = """\
sequence_batching {
  control_input { name: "START__2" control { int32_false_true: [ 0, 1 ] } }
  state { input_name: "S__3" output_name: "S__1" data_type: TYPE_FP32 dims: [ 5 ] }
}
"""
    signature = signature_of(open_folder(write_script(tmp_path / "m", CONFIG + more)), 1)
    assert signature.inputs[2:] == (
        SignatureTensor("START__2", "i32", (None, 1)),
        SignatureTensor("S__3", "f32", (None, 5)),
    )


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("output {", "#", "config.pbtxt: TorchScript does not say what its inputs and outputs are"),
        ("TYPE_FP32 dims: [ 4 ]", "TYPE_STRING dims: [ 4 ]", "config.pbtxt:3: input 'INPUT__0' is"),
        ("data_type: TYPE_INT64 ", "", "config.pbtxt:4: input 'INPUT__1' has no data_type"),
        ("[ 4 ]", "[ 4 ] optional: true", "config.pbtxt:3: input 'INPUT__0' is optional"),
        ("max_batch", "model_operations { }\nmax_batch", "config.pbtxt:2: model_operations are"),
        ("[ 4 ]", "[ 4 ]", "config.pbtxt:4: axis 1 of input 'INPUT__1' varies ('INPUT__1.1'),"),
    ],
)  # fmt: skip
def test_should_refuse_what_the_configuration_lacks(
    tmp_path: Path, old: str, new: str, told: str
) -> None:
    assert old in CONFIG
    folder = write_script(tmp_path / "m", CONFIG.replace(old, new, 1))
    assert refusal(folder, trust=True).startswith(told)


def test_should_need_a_configuration(tmp_path: Path) -> None:
    folder = write_script(tmp_path / "m", None)
    assert refusal(folder).startswith(f"{folder}: TorchScript does not say what its inputs")
    assert "in config.pbtxt, with data_type and dims" in refusal(folder)


def test_should_refuse_weights_without_a_program(tmp_path: Path) -> None:
    folder = write_script(tmp_path / "m", CONFIG)
    for content in (b"", b"no archive"):
        (folder / "1" / "model.pt").write_bytes(content)
        told = refusal(folder, trust=True, axes={"INPUT__1.1": (3,)})
        assert told.startswith("1/model.pt: has no program of TorchScript in it")


def test_should_match_names_as_triton_does(tmp_path: Path) -> None:
    def matched(*given: str) -> dict[str, str]:
        return arguments_of(tmp_path, names("input", *given), "x", "y", "maybe")

    assert matched("y", "x") == {"y": "y", "x": "x"}
    assert matched("A__1", "B__0") == {"A__1": "y", "B__0": "x"}
    assert matched("B__0", "A__1", "C__2") == {"A__1": "y", "B__0": "x", "C__2": "maybe"}
    assert matched("A__", "B__1") == {"A__": "x", "B__1": "y"}
    assert matched("image", "mask__a") == {"image": "x", "mask__a": "y"}
    assert matched("image", "A__0__1") == {"image": "x", "A__0__1": "y"}
    assert matched("x", "A__1") == {"x": "x", "A__1": "y"}
    assert matched("A__1", "y") == {"A__1": "x", "y": "y"}
    assert matched("y", "mask") == {"y": "x", "mask": "y"}
    for count in (2, 3):
        found = results_of(tmp_path, names("output", "scores", "boxes"), count)
        assert found == script_names.Positions({"scores": 0, "boxes": 1}, ())
    found = results_of(tmp_path, names("output", "O__2", "O__0", "P__2"), 3)
    assert found.of == {"O__2": 2, "O__0": 0, "P__2": 2}


def test_should_tell_of_names_that_order_overrules(tmp_path: Path) -> None:
    folder = open_folder(write_script(tmp_path / "m", names("input", "y", "A__1", "mask")))
    found = script_names.arguments_of(folder.config, FILE, ["x", "y", "z"], ["x", "y", "z"])
    assert [note.replace(f"{folder.path}/", "") for note in found.notes] == [
        "config.pbtxt:1: input 'y' is argument 0 and not 1, counted from 0: inputs go by their "
        "order, as in Triton, where they are neither all arguments of forward nor all NAME__i"
    ]
    found = results_of(tmp_path, names("output", "O__1", "boxes"), 2)
    assert found.of == {"O__1": 0, "boxes": 1}
    assert found.notes[0].endswith(
        "output 'O__1' is result 0 and not 1, counted from 0: outputs go by their order, as in "
        "Triton, where they are not all NAME__i"
    )


def test_should_prefer_names_of_arguments_that_look_like_numbers(tmp_path: Path) -> None:
    config = names("input", "INPUT__1", "INPUT__0")
    found = arguments_of(tmp_path, config, "INPUT__1", "INPUT__0")
    assert found == {"INPUT__1": "INPUT__1", "INPUT__0": "INPUT__0"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("A__0", "B__2"), "2: input 'B__2' is number 2, counted from 0; model.pt takes x, y"),
        (("A__0", "B__0"), "2: inputs 'A__0' and 'B__0' are both number 0; model.pt takes x, y"),
        (("a", "b", "c"), "3: input 'c' is number 2, counted from 0; model.pt takes x, y"),
        (("x", "x"), "2: two inputs are named 'x'"),
        (("A__1",), "1: no input is argument 'x'; model.pt takes x, y"),
        (("x",), "1: no input is argument 'y'; model.pt takes x, y"),
    ],
)  # fmt: skip
def test_should_refuse_inputs_that_the_program_has_not(
    tmp_path: Path, given: tuple[str, ...], told: str
) -> None:
    with pytest.raises(RefusedError) as refused:
        arguments_of(tmp_path, names("input", *given), "x", "y")
    assert str(refused.value).startswith(f"{tmp_path}/m/config.pbtxt:{told}")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("O__2",), "1: output 'O__2' is number 2, counted from 0; model.pt returns 2 tensors"),
        (("a", "b", "c"), "3: output 'c' is number 2, counted from 0; model.pt returns 2 tensors"),
    ],
)
def test_should_refuse_outputs_that_the_program_has_not(
    tmp_path: Path, given: tuple[str, ...], told: str
) -> None:
    with pytest.raises(RefusedError) as refused:
        results_of(tmp_path, names("output", *given), 2)
    assert str(refused.value).startswith(f"{tmp_path}/m/config.pbtxt:{told}")


def test_should_ask_for_numbers_where_triton_does_in_sequences(tmp_path: Path) -> None:
    def matched(what: str, *given: str) -> dict[str, str]:
        return arguments_of(tmp_path, names("input", *given, more=what), "x", "y")

    start = 'sequence_batching { control_input { name: "START__1" } }'
    assert matched(start, "x") == {"START__1": "y", "x": "x"}
    assert matched(start, "image") == {"START__1": "y", "image": "x"}
    with pytest.raises(RefusedError, match="2: input 'START' of sequences must be NAME__i, as in"):
        matched(start.replace("__1", ""), "x")
    with pytest.raises(RefusedError, match="1: inputs 'START__1' and 'y' are both number 1"):
        matched(start, "y")
    state = 'sequence_batching { state { input_name: "WAS__1" output_name: "IS__0" } }'
    assert matched(state, "a__0") == {"WAS__1": "y", "a__0": "x"}
    with pytest.raises(RefusedError, match="2: input 'WAS' of sequences must be NAME__i, as in"):
        matched(state.replace("WAS__1", "WAS"), "a__0")
    with pytest.raises(RefusedError, match="1: input 'x' must be NAME__i, as in Triton where seq"):
        matched(state, "x")
    config = names("output", "O__0", more=state)
    assert results_of(tmp_path, config, 1).of == {"IS__0": 0, "O__0": 0}
    with pytest.raises(RefusedError, match="1: output 'boxes' must be NAME__i, as in Triton where"):
        results_of(tmp_path, config.replace("O__0", "boxes"), 1)
    with pytest.raises(RefusedError, match="2: output 'IS' of sequences must be NAME__i, as in"):
        results_of(tmp_path, config.replace("IS__0", "IS"), 1)


@pytest.mark.parametrize(
    ("field", "told"),
    [
        ('platform: "torch_aoti"', "platform 'torch_aoti' is machine code that nothing reads back"),
        ('runtime: "model.py"', "runtime 'model.py' runs a class in Python; import that: ./round"),
    ],
)
def test_should_refuse_what_triton_runs_beside_torchscript(
    tmp_path: Path, field: str, told: str
) -> None:
    config = CONFIG.replace('platform: "pytorch_libtorch"', f'{field} backend: "pytorch"')
    folder = write_script(tmp_path / "m", config)
    assert refusal(folder).startswith(f"config.pbtxt:1: {told}")
    assert sources.extra_of(str(folder), trust=True) == "triton"


def rows_of(models: Path, out: Path, trust: bool) -> dict[str, Row]:
    options = ImportOptions(batch_sizes=(1,), trust=trust, axes={"m/INPUT__1.1": (3,)})
    return {row.model: row for row in convert_repository(models, out, options, lambda _: None)}


def test_should_refuse_code_by_what_to_type(tmp_path: Path) -> None:
    models = tmp_path / "my models"
    write_script(models / "m", CONFIG)
    write_onnx(models / "plain.onnx")
    rows = rows_of(models, tmp_path / "out", trust=False)
    assert rows["plain"].reason == ""
    assert rows["m"].version == 1
    assert rows["m"].reason == (
        f"{models}/m/config.pbtxt:1: backend 'pytorch' runs TorchScript, a program that can do "
        f"more than compute; if you know who made it: ./roundhouse import '{models}' --trust "
        "--models DIR"
    )


def test_should_convert_the_others_without_pytorch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "roundhouse_export.sources.torch", raising=False)
    models = tmp_path / "models"
    write_script(models / "m", CONFIG)
    write_onnx(models / "plain.onnx")
    for _ in range(2):  # it is tried again, for PyTorch may be there then
        rows = rows_of(models, tmp_path / "out", trust=True)
        assert rows["plain"].reason == ""
        assert rows["m"].reason == (
            f"{models}/m/1/model.pt is a TorchScript file, which needs the package 'torch': "
            "pip install 'roundhouse-export[torch]'"
        )


def test_should_convert_again_only_what_trust_is_about(tmp_path: Path) -> None:
    models, out = tmp_path / "models", tmp_path / "out"
    write_script(models / "m", CONFIG.replace("[ -1, 2 ]", "[ -1, 2, -1 ]"))
    write_onnx(models / "plain.onnx")
    write_model(models / "onnx", 'backend: "onnxruntime"\nmax_batch_size: 1')
    assert "if you know who made it" in rows_of(models, out, trust=False)["m"].reason
    for trust in (True, False):
        rows = rows_of(models, out, trust)
        assert rows["plain"].status is rows["onnx"].status is Status.UNCHANGED
        assert ("axis 3" in rows["m"].reason) == trust


def test_should_ask_for_pytorch_where_a_trusted_model_needs_it(tmp_path: Path) -> None:
    models = tmp_path / "models"
    write_onnx(models / "plain.onnx")
    write_model(models / "onnx", "# not backend: 'pytorch'")
    write_script(models / "alone", None)  # which is refused anyway
    assert sources.extra_of(str(models), trust=True) == "triton"
    for name, config in {"named": CONFIG, "backend": "backend: 'pytorch'", "told": ""}.items():
        folder = write_script(tmp_path / name / "m", config)
        for source in (folder, folder.parent, folder / "config.pbtxt"):
            assert sources.extra_of(str(source), trust=True) == "torch"
            assert sources.extra_of(str(source)) == "triton"
