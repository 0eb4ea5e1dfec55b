# ruff: noqa: E402
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from served_model import ServedModel, require_near

torch = pytest.importorskip("torch", reason="./roundhouse test --torch has PyTorch")

from roundhouse_export.contract import TensorSpec
from roundhouse_export.model import ImportOptions, Wide
from roundhouse_export.pipeline import export_model
from roundhouse_export.refusal import RefusedError
from roundhouse_export.sources import torch as source
from roundhouse_export.stored import StoredBundle
from roundhouse_export.torch_graph.conversion import Way
from roundhouse_export.validation import against_reference

nn = torch.nn
IMAGE = TensorSpec("x", "f32", ("n", 3, 8, 8))
OPTIONS = ImportOptions(name="net", batch_sizes=(1, 3), inputs={"x": IMAGE})
BOTH = pytest.mark.parametrize("way", list(Way), ids=lambda way: way.name)


class Image(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.conv = nn.Conv2d(3, 6, 3, stride=2)
        self.norm = nn.BatchNorm2d(6)
        self.drop = nn.Dropout(0.5)
        self.head = nn.Linear(6, 4)
        for each in (self.norm.running_mean, self.norm.running_var):
            each.copy_(torch.rand(6) + 0.5)

    def forward(self, x):
        x = self.drop(torch.relu(self.norm(self.conv(x))))
        return self.head(x.mean((2, 3)))


class Tokens(nn.Module):
    """Ids and a mask in, a dict out, and one weight for the table and the last layer."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.table = nn.Embedding(11, 8)
        self.register_buffer("places", torch.arange(32), persistent=False)
        self.position = nn.Embedding(32, 8)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.out = nn.Linear(8, 11, bias=False)
        self.out.weight = self.table.weight

    def forward(self, ids, mask):
        x = self.table(ids) + self.position(self.places[: ids.shape[1]])
        x = self.layer(x, src_key_padding_mask=mask == 0)
        return {"logits": self.out(x), "best": self.out(x).argmax(-1)}


def images(rows: int) -> np.ndarray:
    return np.random.default_rng(rows).standard_normal((rows, 3, 8, 8), np.float32)


def of(module: Any, *arrays: np.ndarray) -> Any:
    with torch.no_grad():
        return module(*(torch.from_numpy(array) for array in arrays))


@BOTH
def test_should_compute_as_the_module_in_eval(way: Way) -> None:
    module = Image().train()
    served = ServedModel(source.load_object(module, OPTIONS, ways=[way]))
    assert not module.training
    for rows in (1, 3):
        require_near(served(x=images(rows)), {"output": of(module, images(rows)).numpy()})


@BOTH
def test_should_name_weights_as_the_module_does(way: Way) -> None:
    model = source.load_object(Image(), OPTIONS, ways=[way])
    assert list(model.weights) == [
        "conv.weight",
        "conv.bias",
        "norm.weight",
        "norm.bias",
        "head.weight",
        "head.bias",
        "norm.running_mean",
        "norm.running_var",
        "norm.num_batches_tracked",
    ]
    assert model.facts["way"] == way.value


@BOTH
def test_should_serve_token_ids_at_lengths_that_axis_gives(way: Way) -> None:
    inputs = {name: TensorSpec(name, "i64", ("n", "s")) for name in ("ids", "mask")}
    options = ImportOptions(
        batch_sizes=(2,), axes={"s": (4, 6)}, inputs=inputs, wide=Wide.CAST, name="tokens"
    )
    module = Tokens()
    model = source.load_object(module, options, ways=[way])
    assert [t.dtype for t in model.contract.inputs] == ["i32", "i32"]
    assert [(t.name, t.dtype, t.shape) for t in model.contract.outputs] == [
        ("logits", "f32", ("n", "s", 11)),
        ("best", "i32", ("n", "s")),
    ]
    assert "table.weight" in model.weights
    assert "out.weight" not in model.weights
    served = ServedModel(model)
    for length in (4, 6):
        ids = np.random.default_rng(length).integers(0, 11, (2, length))
        mask = np.ones((2, length), np.int64)
        mask[1, 3:] = 0
        wanted = of(module, ids, mask)
        got = served(ids=ids.astype(np.int32), mask=mask.astype(np.int32))
        require_near(
            got,
            {"logits": wanted["logits"].numpy(), "best": wanted["best"].numpy().astype(np.int32)},
        )


def test_should_refuse_ids_of_64_bits_unless_told(tmp_path: Path) -> None:
    inputs = {name: TensorSpec(name, "i64", ("n", 4)) for name in ("ids", "mask")}
    with pytest.raises(RefusedError, match="input 'ids' is i64; --wide cast"):
        source.load_object(Tokens(), ImportOptions(inputs=inputs))
    kept = source.load_object(
        Tokens(), ImportOptions(inputs=inputs, batch_sizes=(1,), wide=Wide.KEEP)
    )
    assert {t.dtype for t in kept.contract.inputs} == {"i64"}
    ids = np.array([[1, 2, 3, 4]])
    got = ServedModel(kept)(ids=ids, mask=np.ones_like(ids))
    assert got["best"].dtype == np.int64


def test_should_refuse_weights_of_f64_by_name() -> None:
    with pytest.raises(RefusedError, match=r"weight 'conv.weight' is float64; --wide cast"):
        source.load_object(Image().double(), OPTIONS)


def test_should_keep_large_tensors_of_the_code_out_of_programs(tmp_path: Path) -> None:
    class Adds(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = torch.rand(3, 200, 200)  # no buffer, so torch.export lifts it

        def forward(self, x):
            return x + self.table

    options = ImportOptions(
        name="adds", batch_sizes=(1,), inputs={"x": TensorSpec("x", "f32", ("n", 3, 200, 200))}
    )
    model = source.load_object(Adds(), options)
    export_model(model, tmp_path / "adds")
    bundle = StoredBundle(tmp_path / "adds")
    assert [array.nbytes for array in bundle.weights.values()] == [3 * 200 * 200 * 4]
    assert len(bundle.program(next(iter(bundle.contract.programs())))) < 64 << 10
    assert model.reference is not None
    assert all(each.is_near for each in against_reference(bundle.folder, model.reference))


def test_should_take_bfloat16() -> None:
    module = Image().bfloat16().eval()
    inputs = {"x": TensorSpec("x", "bf16", ("n", 3, 8, 8))}
    model = source.load_object(module, ImportOptions(batch_sizes=(2,), inputs=inputs))
    assert model.reference is not None
    given = {"x": images(2).astype(model.weights["conv.weight"].dtype)}
    got = ServedModel(model)(**given)["output"]
    wanted = model.reference(given)["output"]
    assert got.dtype == wanted.dtype
    np.testing.assert_allclose(
        got.astype(np.float32), wanted.astype(np.float32), rtol=0.05, atol=0.05
    )


def test_should_go_through_onnx_where_torch_export_cannot_and_say_so() -> None:
    class Looks(nn.Module):
        def forward(self, x):
            return x * 2 if x.sum() > -1e9 else x

    model = source.load_object(Looks(), OPTIONS)
    assert model.facts["way"] == Way.ONNX.value
    assert len(model.notes) == 1
    assert model.notes[0].startswith("converted through ONNX, for: torch.export: ")
    require_near(ServedModel(model)(x=images(3)), {"output": images(3) * 2})


def test_should_refuse_in_one_line_with_layer_and_operator() -> None:
    class Airy(nn.Module):
        def forward(self, x):
            return torch.special.airy_ai(x)

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Airy()

        def forward(self, x):
            return self.inner(x)

    with pytest.raises(RefusedError) as told:
        source.load_object(Outer(), OPTIONS, "net:outer")
    said = str(told.value)
    assert "\n" not in said
    assert said.startswith("net:outer: layer 'inner' (Airy): operator aten.special_airy_ai")
    assert "nor through ONNX: " in said


def test_should_leave_what_a_module_keeps_for_later_alone() -> None:
    class Keeps(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.full((8,), 3.0))
            self.known: dict[str, Any] = {}

        def forward(self, x):
            if "twice" not in self.known:
                self.known["twice"] = 2 * self.scale
            return x * self.known["twice"]

    model = source.load_object(Keeps(), OPTIONS)
    require_near(ServedModel(model)(x=images(1)), {"output": images(1) * 6})
    assert model.reference is not None
    require_near(model.reference({"x": images(1)}), {"output": images(1) * 6})


def test_should_say_which_buffer_a_call_writes_to() -> None:
    class Counts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("seen", torch.zeros(()))

        def forward(self, x):
            self.seen += 1
            return x + self.seen

    model = source.load_object(Counts(), OPTIONS)
    assert any("writes to the buffer 'seen'" in note for note in model.notes)
    require_near(ServedModel(model)(x=images(1)), {"output": images(1) + 1})
    assert model.reference is not None
    for _ in range(2):
        require_near(model.reference({"x": images(1)}), {"output": images(1) + 1})


def exported(module: Any, *arguments: Any, path: Path, **options: Any) -> str:
    torch.export.save(torch.export.export(module.eval(), arguments, **options), path)
    return str(path)


def test_should_read_pt2_with_a_batch_that_varies(tmp_path: Path) -> None:
    module = Image()
    rows = torch.export.Dim("rows")
    file = exported(
        module,
        torch.from_numpy(images(2)),
        path=tmp_path / "digits.pt2",
        dynamic_shapes=({0: rows},),
    )
    model = source.load(file, ImportOptions(batch_sizes=(1, 3)))
    assert model.name == "digits"
    assert [(t.name, t.shape) for t in model.contract.inputs] == [("x", ("n", 3, 8, 8))]
    assert "conv.weight" in model.weights
    for rows in (1, 3):
        require_near(
            ServedModel(model)(x=images(rows)), {"output": of(module, images(rows)).numpy()}
        )


def test_should_read_pt2_of_fixed_shapes(tmp_path: Path) -> None:
    module = Image()
    file = exported(module, torch.from_numpy(images(2)), path=tmp_path / "two.pt2")
    model = source.load(file, ImportOptions())
    assert model.contract.inputs[0].shape == (2, 3, 8, 8)
    require_near(ServedModel(model)(x=images(2)), {"output": of(module, images(2)).numpy()})


def test_should_refuse_damaged_pt2_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "cut.pt2"
    file.write_bytes(b"PK\x03\x04 no more")
    with pytest.raises(RefusedError, match=r"cut\.pt2: cannot be loaded") as told:
        source.load(str(file), ImportOptions())
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("make", [torch.jit.script, None], ids=["script", "trace"])
def test_should_read_torchscript_when_trusted(tmp_path: Path, make: Callable[..., Any]) -> None:
    module = Image().eval()
    script = make(module) if make else torch.jit.trace(module, torch.from_numpy(images(1)))
    file = tmp_path / "old.pt"
    script.save(file)
    with pytest.raises(RefusedError, match=r"--trust loads it"):
        source.load(str(file), OPTIONS)
    trusting = ImportOptions(batch_sizes=(1, 3), inputs={"x": IMAGE}, trust=True)
    model = source.load(str(file), trusting)
    assert model.name == "old"
    assert "conv.weight" in model.weights
    require_near(ServedModel(model)(x=images(3)), {"output": of(module, images(3)).numpy()})


def test_should_suggest_the_shape_that_the_first_layer_takes(tmp_path: Path) -> None:
    """``Tokens`` needs two inputs, and nobody knows which of them is the table's."""
    image = "say each: --input 'x=f32[n,3,224,224]', with sizes of your own for 224,224"
    words = nn.Sequential(nn.Embedding(11, 8), nn.Linear(8, 2))
    for module, told in {
        Image(): image,
        words: "say each: --input 'input=i64[n,s]' --axis s=16,64 --wide cast",
        nn.Linear(8, 2).half(): "say each: --input 'input=f16[n,8]'",
        Tokens(): "say each: --input 'ids=f32[n,4]'",
    }.items():
        with pytest.raises(RefusedError) as refused:
            source.load_object(module, ImportOptions())
        assert str(refused.value).endswith(told)
    for script in (
        torch.jit.script(Image().eval()),
        torch.jit.trace(Image().eval(), torch.from_numpy(images(1))),
    ):
        script.save(tmp_path / "image.pt")
        with pytest.raises(RefusedError) as refused:
            source.load(str(tmp_path / "image.pt"), ImportOptions(trust=True))
        assert str(refused.value).endswith(image)
