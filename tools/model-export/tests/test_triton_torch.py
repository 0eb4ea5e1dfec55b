"""TorchScript in a repository of Triton's, beside the module that it was made of."""

# ruff: noqa: E402
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import triton_models
from served_model import ServedModel, require_near
from triton_models import shapes, write_onnx

torch = pytest.importorskip("torch", reason="./roundhouse test --torch has PyTorch")

from roundhouse_export.model import ImportOptions, Model, Wide
from roundhouse_export.repository import Status, convert_repository

nn = torch.nn


class Two(nn.Module):
    """Takes what cannot be mixed up, and returns two tensors."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(4)
        self.first = nn.Linear(4, 3)
        self.second = nn.Linear(5, 3)

    def forward(self, wide, narrow):
        both = torch.relu(self.first(narrow)) - self.second(wide)
        return both, both.sum(-1, keepdim=True)


class Tokens(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(5)
        self.table = nn.Embedding(11, 6)

    def forward(self, ids):
        return self.table(ids)


class Best(nn.Module):
    def forward(self, x):
        return x.argmax(-1)


class Counter(nn.Module):
    def forward(self, x, start, kept):
        total = x + kept * (1 - start)
        return total, total


class Named(nn.Module):
    def forward(self, x):
        return {"scores": x + 1}


class Listed(nn.Module):
    def forward(self, xs: list[torch.Tensor]):
        return xs[0]


class Lists(nn.Module):
    def forward(self, x) -> list[torch.Tensor]:
        return [x, x + 1]


class Half(nn.Module):
    def forward(self, x) -> tuple[torch.Tensor, torch.Tensor | None]:
        return x, None


class Fields(NamedTuple):
    scores: torch.Tensor
    boxes: torch.Tensor


class Pair(nn.Module):
    def forward(self, x):
        return Fields(x + 1, x * 2)


class Mapped(nn.Module):
    def forward(self, given: dict[str, torch.Tensor]):
        return given["left"] - 2 * given["right"]


CONFIG = """\
platform: "pytorch_libtorch"
max_batch_size: 8
input { name: "INPUT__0" data_type: TYPE_FP32 dims: [ 5 ] }
input { name: "INPUT__1" data_type: TYPE_FP32 dims: [ 4 ] }
output { name: "OUTPUT__0" data_type: TYPE_FP32 dims: [ 3 ] }
output { name: "OUTPUT__1" data_type: TYPE_FP32 dims: [ 1 ] }
"""


def write(folder: Path, module: nn.Module, config: str) -> Path:
    (folder / "1").mkdir(parents=True, exist_ok=True)
    torch.jit.script(module.eval()).save(folder / "1" / "model.pt")
    (folder / "config.pbtxt").write_text(config)
    return folder


load = partial(triton_models.load, trust=True)
refusal = partial(triton_models.refusal, trust=True)


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(shape).standard_normal(shape, np.float32)


def eager(module: nn.Module, *arrays: np.ndarray) -> list[np.ndarray]:
    with torch.no_grad():
        found = module(*(torch.from_numpy(array) for array in arrays))
    return [each.numpy() for each in (found if isinstance(found, tuple) else (found,))]


def require_two(model: Model, wide: str, narrow: str, outputs: list[str], *rows: int) -> None:
    """Compares programs and reference with the module."""
    served = ServedModel(model)
    for count in rows or (None,):
        batch = () if count is None else (count,)
        inputs = {wide: normal(*batch, 5), narrow: normal(*batch, 4)}
        wanted = dict(zip(outputs, eager(Two(), inputs[wide], inputs[narrow]), strict=True))
        require_near(served(**inputs), wanted)
        assert model.reference is not None
        require_near(model.reference(inputs), wanted)


def test_should_take_the_order_from_numbers_in_names(tmp_path: Path) -> None:
    config = CONFIG.replace("__0", "__?", 1).replace("__1", "__0", 1).replace("__?", "__1", 1)
    config = config.replace("[ 5 ]", "[ ? ]").replace("[ 4 ]", "[ 5 ]").replace("[ ? ]", "[ 4 ]")
    model = load(write(tmp_path / "m", Two(), config))
    assert model.name == "m"
    assert model.contract.batch_sizes == (1, 2, 4, 8)
    assert shapes(model) == {
        "INPUT__1": ("n", 4),
        "INPUT__0": ("n", 5),
        "OUTPUT__0": ("n", 3),
        "OUTPUT__1": ("n", 1),
    }
    assert model.notes == ()
    require_two(model, "INPUT__0", "INPUT__1", ["OUTPUT__0", "OUTPUT__1"], 1, 8)


def test_should_take_names_of_arguments(tmp_path: Path) -> None:
    config = CONFIG.replace('"INPUT__0"', '"wide"').replace('"INPUT__1"', '"narrow"')
    first, second = config.splitlines()[2:4]
    config = config.replace(first, "?").replace(second, first).replace("?", second)
    model = load(write(tmp_path / "m", Two(), config), batch_sizes=(2,))
    assert list(shapes(model))[:2] == ["narrow", "wide"]
    require_two(model, "wide", "narrow", ["OUTPUT__0", "OUTPUT__1"], 2)


def test_should_go_by_order_where_names_say_nothing(tmp_path: Path) -> None:
    config = CONFIG
    for old, new in {"INPUT__0": "a", "INPUT__1": "b", "OUTPUT__0": "c", "OUTPUT__1": "d"}.items():
        config = config.replace(old, new)
    model = load(write(tmp_path / "m", Two(), config), batch_sizes=(2,))
    require_two(model, "a", "b", ["c", "d"], 2)


def test_should_answer_the_outputs_that_are_listed(tmp_path: Path) -> None:
    config = "".join(line for line in CONFIG.splitlines(True) if "OUTPUT__0" not in line)
    model = load(write(tmp_path / "m", Two(), config), batch_sizes=(2,))
    inputs = {"INPUT__0": normal(2, 5), "INPUT__1": normal(2, 4)}
    wanted = eager(Two(), inputs["INPUT__0"], inputs["INPUT__1"])
    require_near(ServedModel(model)(**inputs), {"OUTPUT__1": wanted[1]})


def test_should_serve_without_a_batch(tmp_path: Path) -> None:
    model = load(write(tmp_path / "m", Two(), CONFIG.replace("max_batch_size: 8", "")))
    assert shapes(model)["INPUT__0"] == (5,)
    assert model.contract.batch_sizes == ()
    require_two(model, "INPUT__0", "INPUT__1", ["OUTPUT__0", "OUTPUT__1"])


TOKENS = """\
backend: "pytorch"
max_batch_size: 2
input { name: "ids" data_type: TYPE_INT64 dims: [ -1 ] }
output { name: "OUTPUT__0" data_type: TYPE_FP32 dims: [ -1, 6 ] }
"""


def test_should_serve_an_axis_at_sizes_that_axis_gives(tmp_path: Path) -> None:
    folder = write(tmp_path / "m", Tokens(), TOKENS)
    assert refusal(folder) == (
        "config.pbtxt:3: axis 1 of input 'ids' varies ('ids.1'), and programs have fixed shapes; "
        "give its sizes: --axis ids.1=16,64,128"
    )
    model = load(folder, axes={"ids.1": (4, 7)}, wide=Wide.CAST)
    assert shapes(model) == {"ids": ("n", "s"), "OUTPUT__0": ("n", "s", 6)}
    assert [note.partition("config.pbtxt")[2] for note in model.notes] == [
        ":3: input 'ids' is i32 here, not i64: clients send i32"
    ]
    served = ServedModel(model)
    for length in (4, 7):
        ids = np.arange(2 * length, dtype=np.int32).reshape(2, length) % 11
        require_near(served(ids=ids), {"OUTPUT__0": eager(Tokens(), ids)[0]})


def test_should_pad_and_cut_back_by_the_names_of_the_configuration(tmp_path: Path) -> None:
    write(tmp_path, Tokens(), TOKENS)
    given = {"axes": {"ids.1": (4, 9)}, "wide": Wide.CAST, "pad": {"ids": 0}}
    model = load(tmp_path, **given, trim=("OUTPUT__0",))
    assert model.contract.pad == {"ids": 0}
    assert model.contract.trim == ("OUTPUT__0",)
    told = refusal(tmp_path, **given, trim=("output",))
    assert "model.pt: trim names 'output'; the outputs are [OUTPUT__0]" in told


@pytest.mark.parametrize("wide", Wide)
def test_should_say_so_when_clients_get_another_type(tmp_path: Path, wide: Wide) -> None:
    config = """\
backend: "pytorch"
max_batch_size: 2
input { name: "x" data_type: TYPE_FP32 dims: [ 4 ] }
output { name: "OUTPUT__0" data_type: TYPE_INT64 dims: [ ] }
"""
    model = load(write(tmp_path / "m", Best(), config), wide=wide)
    assert model.contract.outputs[0].dtype == "i32"
    assert [note.partition("config.pbtxt")[2] for note in model.notes] == [
        ":4: output 'OUTPUT__0' is i32 here, not i64: clients get i32"
    ]


def test_should_keep_state_and_controls_out_of_clients_hands(tmp_path: Path) -> None:
    config = """\
backend: "pytorch"
max_batch_size: 2
input { name: "INPUT__0" data_type: TYPE_FP32 dims: [ 1 ] }
output { name: "OUTPUT__0" data_type: TYPE_FP32 dims: [ 1 ] }
sequence_batching {
  oldest { }
  control_input { name: "START__1" control { fp32_false_true: [ 0, 1 ] } }
  state { input_name: "KEPT__2" output_name: "KEPT__1" data_type: TYPE_FP32 dims: [ 1 ] }
}
"""
    model = load(write(tmp_path / "m", Counter(), config))
    assert model.serving["sequence"] == {
        "idle": "1s",
        "controls": {"start": "START__1"},
        "state": [{"input": "KEPT__2", "output": "KEPT__1", "initial": "zero"}],
    }
    inputs = {"INPUT__0": normal(2, 1), "START__1": np.zeros((2, 1), "f4")}
    inputs["KEPT__2"] = np.ones((2, 1), "f4")
    total = inputs["INPUT__0"] + 1
    require_near(ServedModel(model)(**inputs), {"OUTPUT__0": total, "KEPT__1": total})


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("INPUT__1", "INPUT__2", "config.pbtxt:4: input 'INPUT__2' is number 2, counted from 0; "),
        ("OUTPUT__1", "OUTPUT__2", "config.pbtxt:6: output 'OUTPUT__2' is number 2, counted from "),
        ("[ 3 ]", "[ 2 ]", "config.pbtxt:5: output 'OUTPUT__0' is [2] beside the batch, and ['n'"),
        ("FP32 dims: [ 3 ]", "FP16 dims: [ 3 ]", "config.pbtxt:5: output 'OUTPUT__0' is f16, and"),
        ("[ 5 ]", "[ 6 ]", "1/model.pt: calling it: RuntimeError: mat1 and mat2 shapes cannot be"),
    ],
)  # fmt: skip
def test_should_name_what_the_configuration_and_the_program_say(
    tmp_path: Path, old: str, new: str, told: str
) -> None:
    assert old in CONFIG
    assert refusal(write(tmp_path / "m", Two(), CONFIG.replace(old, new, 1))).startswith(told)


def test_should_refuse_an_input_too_few(tmp_path: Path) -> None:
    config = "".join(line for line in CONFIG.splitlines(True) if "INPUT__1" not in line)
    told = "config.pbtxt:3: no input is argument 'narrow'; 1/model.pt takes wide, narrow"
    assert refusal(write(tmp_path / "m", Two(), config)) == told


def test_should_refuse_what_is_no_tensor(tmp_path: Path) -> None:
    config = """\
backend: "pytorch"
input { name: "INPUT__0" data_type: TYPE_FP32 dims: [ 4 ] }
output { name: "OUTPUT__0" data_type: TYPE_FP32 dims: [ 4 ] }
"""
    told = refusal(write(tmp_path / "m", Listed(), config))
    assert told.startswith("1/model.pt: argument 'xs' is a List[Tensor], and clients send tensors")
    for module, returned in {
        Named(): "Dict[str, Tensor], and not a tensor or a tuple of tensors; return such",
        Lists(): "List[Tensor], and not a tensor or a tuple of tensors; return such",
        Half(): "Tuple[Tensor, Optional[Tensor]], and not a tensor or a tuple of tensors",
    }.items():
        told = refusal(write(tmp_path / "m", module, config))
        assert told.startswith(f"1/model.pt: it returns {returned}")


def test_should_answer_a_tuple_with_names_by_its_order(tmp_path: Path) -> None:
    config = """\
backend: "pytorch"
max_batch_size: 2
input { name: "x" data_type: TYPE_FP32 dims: [ 4 ] }
output { name: "OUTPUT__1" data_type: TYPE_FP32 dims: [ 4 ] }
output { name: "boxes__1" data_type: TYPE_FP32 dims: [ 4 ] }
output { name: "scores__0" data_type: TYPE_FP32 dims: [ 4 ] }
"""
    model = load(write(tmp_path / "m", Pair(), config))
    x = normal(2, 4)
    wanted = {"OUTPUT__1": x * 2, "boxes__1": x * 2, "scores__0": x + 1}
    require_near(ServedModel(model)(x=x), wanted)


def test_should_pass_a_dict_with_the_inputs_by_name(tmp_path: Path) -> None:
    config = """\
backend: "pytorch"
max_batch_size: 2
input { name: "right" data_type: TYPE_FP32 dims: [ 4 ] }
input { name: "left" data_type: TYPE_FP32 dims: [ 4 ] }
output { name: "OUTPUT__0" data_type: TYPE_FP32 dims: [ 4 ] }
"""
    folder = write(tmp_path / "m", Mapped(), config)
    model = load(folder)
    left, right = normal(2, 4), normal(2, 4) + 1
    require_near(ServedModel(model)(left=left, right=right), {"OUTPUT__0": left - 2 * right})
    folder = write(tmp_path / "m", Mapped(), config.replace('"left"', '"links"'))
    assert "left" in refusal(folder)


def test_should_go_by_order_as_triton_does_and_say_so(tmp_path: Path) -> None:
    config = CONFIG.replace("INPUT__0", "narrow").replace("INPUT__1", "other")
    model = load(write(tmp_path / "m", Two(), config), batch_sizes=(2,))
    (note,) = model.notes
    assert "config.pbtxt:3: input 'narrow' is argument 0 and not 1, counted from 0: in" in note
    require_two(model, "narrow", "other", ["OUTPUT__0", "OUTPUT__1"], 2)


def test_should_convert_a_repository_beside_onnx(tmp_path: Path) -> None:
    models, out = tmp_path / "models", tmp_path / "out"
    write(models / "two", Two(), CONFIG)
    write(models / "tokens", Tokens(), TOKENS)
    write_onnx(models / "plain.onnx")
    options = ImportOptions(trust=True, axes={"tokens/ids.1": (4,)}, batch_sizes=(2,))
    rows = {row.model: row for row in convert_repository(models, out, options, lambda _: None)}
    assert rows["two"].status is rows["plain"].status is Status.CONVERTED
    assert rows["two"].difference is not None and rows["two"].difference < 1e-5
    assert "'ids'" in rows["tokens"].reason and "--wide cast" in rows["tokens"].reason
    rows = {row.model: row for row in convert_repository(models, out, options, lambda _: None)}
    assert rows["two"].status is Status.UNCHANGED
