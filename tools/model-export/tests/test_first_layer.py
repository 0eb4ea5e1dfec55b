"""Layers are stand-ins: what is looked at are names of classes, weights and groups."""

from types import SimpleNamespace

import pytest

from roundhouse_export.model import ImportOptions
from roundhouse_export.refusal import RefusedError
from roundhouse_export.sources.first_layer import options_for
from roundhouse_export.sources.functional import given_inputs


def layer(kind: str, *shape: int, dtype: str = "float32", **more: object) -> object:
    weight = SimpleNamespace(shape=shape, dtype=f"torch.{dtype}")
    return type(kind, (), {"weight": weight, **more})()


@pytest.mark.parametrize(
    ("first", "options"),
    [
        (layer("Conv2d", 64, 3, 7, 7), "'x=f32[n,3,224,224]', with sizes of your own for 224,224"),
        (layer("Conv2d", 6, 2, 3, 3, groups=3), "'x=f32[n,6,224,224]', with sizes of your own f"),
        (layer("Conv1d", 8, 1, 9), "'x=f32[n,1,1000]', with sizes of your own for 1000"),
        (layer("Conv3d", 8, 3, 3, 7, 7), "'x=f32[n,3,16,112,112]', with sizes of your own for "),
        (layer("Linear", 10, 64), "'x=f32[n,64]'"),
        (layer("Linear", 10, 64, dtype="float16"), "'x=f16[n,64]'"),
        (layer("Linear", 10, 64, dtype="bfloat16"), "'x=bf16[n,64]'"),
        (layer("Embedding", 100, 8), "'x=i64[n,s]' --axis s=16,64 --wide cast"),
        (layer("Scripted", 10, 64, original_name="Linear"), "'x=f32[n,64]'"),
    ],
)
def test_should_say_what_the_first_layer_takes(first: object, options: str) -> None:
    told = options_for("x", [layer("Net"), layer("Dropout"), first, layer("Linear", 2, 3)])
    assert told is not None
    assert told.startswith(f"--input {options}")


def test_should_know_a_class_of_a_persons_own_by_what_it_is_made_of() -> None:
    standard = type("StdConv2d", (type(layer("Conv2d")),), {})()
    standard.weight = SimpleNamespace(shape=(8, 1, 3, 3), dtype="torch.float32")
    assert "'x=f32[n,1,224,224]'" in (options_for("x", [standard]) or "")


def test_should_say_nothing_where_no_layer_does() -> None:
    assert options_for("x", []) is None
    assert options_for("x", [layer("ReLU")]) is None
    assert options_for("x", [type("Linear", (), {})()]) is None  # it has no weight yet


def test_should_suggest_what_to_type() -> None:
    for example, told in {
        None: "say each: --input 'x=f32[n,4]'",
        "--input 'x=f32[n,64]'": "say each: --input 'x=f32[n,64]'",
    }.items():
        with pytest.raises(RefusedError) as refused:
            given_inputs("net", ["x"], ImportOptions(), example)
        assert str(refused.value).endswith(
            f"which takes x, does not say the shapes of its inputs; {told}"
        )
