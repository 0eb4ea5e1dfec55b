import pytest

from roundhouse_export.contract import Contract, ProgramKey, TensorSpec


def one_to_one(shape: tuple[int | str, ...], **more: object) -> Contract:
    tensor = TensorSpec("x", "f32", shape)
    return Contract(inputs=(tensor,), outputs=(TensorSpec("y", "f32", shape),), **more)


@pytest.mark.parametrize(
    ("contract", "files"),
    [
        (one_to_one((3,)), ["model.mlir"]),
        (one_to_one(("n", 3), batch_sizes=(1, 4)), ["model.b1.mlir", "model.b4.mlir"]),
        (one_to_one(("s",), variants=({"s": 2}, {"s": 8})), ["model.v0.mlir", "model.v1.mlir"]),
        (
            one_to_one(("n", "s"), batch_sizes=(2,), variants=({"s": 2}, {"s": 8})),
            ["model.v0.b2.mlir", "model.v1.b2.mlir"],
        ),
    ],
)
def test_should_name_every_program_when_asked(contract: Contract, files: list[str]) -> None:
    assert [key.file_name for key in contract.programs()] == files


def test_should_resolve_shape_when_batch_and_variant_are_given() -> None:
    contract = one_to_one(("n", "s", 0), batch_sizes=(2,), variants=({"s": 8},))
    variant = contract.variant(ProgramKey(0, 2))
    assert contract.inputs[0].resolve(2, variant) == (2, 8, 0)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((3, "n"), "the batch axis n may appear once, and first"),
        (("n", "n"), "the batch axis n may appear once, and first"),
        (("n", -1), "tensor 'x' has extent -1"),
        (("seq",), "axis 'seq' must be one letter"),
        (("S",), "axis 'S' must be one letter"),
    ],
)
def test_should_refuse_tensor_when_shape_is_wrong(
    shape: tuple[int | str, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        TensorSpec("x", "f32", shape)


def test_should_refuse_tensor_when_dtype_is_unknown() -> None:
    with pytest.raises(ValueError, match="dtype 'float32' is unknown; use one of f64, f32"):
        TensorSpec("x", "float32", (1,))


@pytest.mark.parametrize(
    ("shape", "more", "message"),
    [
        (("n",), {}, "inputs have a batch axis but batch sizes are"),
        ((3,), {"batch_sizes": (1,)}, "inputs lack a batch axis but batch sizes are"),
        (("n",), {"batch_sizes": (0,)}, "must all be 1 or more"),
        (("n",), {"batch_sizes": (4, 1)}, "must ascend without repeats"),
        (("s",), {}, r"axes \['s'\] are variable"),
        (("s",), {"variants": ({"t": 4},)}, "variant 0 is {'t': 4}"),
        (("s",), {"variants": ({"s": 0},)}, "variant 0 is {'s': 0}"),
        (("s",), {"variants": ({"s": 4}, {"s": 4})}, "variant 1 {'s': 4} repeats"),
    ],
)
def test_should_refuse_contract_when_a_rule_is_broken(
    shape: tuple[int | str, ...], more: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        one_to_one(shape, **more)


def test_should_refuse_contract_when_only_some_inputs_are_batched() -> None:
    inputs = (TensorSpec("x", "f32", ("n",)), TensorSpec("k", "f32", (3,)))
    with pytest.raises(ValueError, match=r"inputs \['k'\] have no batch axis n"):
        Contract(inputs=inputs, outputs=(), batch_sizes=(1,))


def test_should_refuse_contract_when_an_output_invents_an_axis() -> None:
    with pytest.raises(ValueError, match=r"output 'y' uses axes \['t'\]"):
        Contract(inputs=(TensorSpec("x", "f32", (3,)),), outputs=(TensorSpec("y", "f32", ("t",)),))


def test_should_refuse_contract_when_a_name_repeats() -> None:
    tensor = TensorSpec("x", "f32", (3,))
    with pytest.raises(ValueError, match=r"inputs name \['x'\] more than once"):
        Contract(inputs=(tensor, tensor), outputs=())
