from typing import Any

import jax
import numpy as np
import pytest
from flax import linen, nnx
from served_model import ServedModel, require_near

from roundhouse_export.contract import TensorSpec
from roundhouse_export.model import ImportOptions
from roundhouse_export.refusal import RefusedError
from roundhouse_export.sources import flax

OPTIONS = ImportOptions(
    name="net", batch_sizes=(1, 4), inputs={"x": TensorSpec("x", "f32", ("n", 6, 6, 2))}
)


class Net(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.conv = nnx.Conv(2, 4, (3, 3), rngs=rngs)
        self.norm = nnx.BatchNorm(4, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)
        self.blocks = nnx.List([nnx.Linear(4, 5, rngs=rngs), nnx.Linear(5, 3, rngs=rngs)])

    def __call__(self, images: jax.Array) -> dict[str, jax.Array]:
        hidden = self.dropout(nnx.relu(self.norm(self.conv(images)))).mean((1, 2))
        for block in self.blocks:
            hidden = block(hidden)
        return {"scores": hidden, "best": hidden.argmax(-1)}


class LinenNet(linen.Module):
    @linen.compact
    def __call__(self, x: jax.Array, train: bool = True) -> jax.Array:
        x = linen.Conv(4, (3, 3))(x)
        x = linen.BatchNorm(use_running_average=not train)(x)
        x = linen.Dropout(0.5, deterministic=not train)(x)
        return linen.Dense(3)(x.mean((1, 2)))


def trained_net() -> Net:
    """One whose batch norm has seen something."""
    net = nnx.jit(lambda: Net(nnx.Rngs(3)))()
    nnx.jit(lambda net, seen: net(seen))(net, images(32) * 3 + 1)
    return net


def images(rows: int) -> np.ndarray:
    return np.random.default_rng(rows).standard_normal((rows, 6, 6, 2), np.float32)


@pytest.fixture(scope="module")
def net() -> Net:
    return trained_net()


@pytest.fixture(scope="module")
def model(net: Net) -> flax.Model:
    return flax.load_nnx(net, OPTIONS)


@pytest.fixture(scope="module")
def served(model: flax.Model) -> ServedModel:
    return ServedModel(model)


@pytest.mark.parametrize("rows", [1, 4])
def test_should_compute_as_nnx_does_in_use(net: Net, served: ServedModel, rows: int) -> None:
    wanted = nnx.view(net, deterministic=True, use_running_average=True)(images(rows))
    require_near(served(x=images(rows)), {k: np.asarray(v) for k, v in wanted.items()})


def test_should_ask_the_module_itself_for_other_numbers_of_rows(
    net: Net, model: flax.Model
) -> None:
    wanted = nnx.view(net, deterministic=True, use_running_average=True)(images(3))
    assert model.reference is not None
    require_near(model.reference({"x": images(3)}), {k: np.asarray(v) for k, v in wanted.items()})


def test_should_leave_the_persons_module_in_training(net: Net, model: flax.Model) -> None:
    assert not net.dropout.deterministic
    assert not net.norm.use_running_average


def test_should_name_weights_by_path_and_leave_random_streams_out(model: flax.Model) -> None:
    assert set(model.weights) == {
        "blocks/0/bias",
        "blocks/0/kernel",
        "blocks/1/bias",
        "blocks/1/kernel",
        "conv/bias",
        "conv/kernel",
        "norm/bias",
        "norm/mean",
        "norm/scale",
        "norm/var",
    }
    assert [tensor.name for tensor in model.contract.outputs] == ["scores", "best"]


def test_should_compute_as_linen_does_in_use() -> None:
    module = LinenNet()

    @jax.jit
    def trained(key: jax.Array, x: jax.Array) -> Any:
        variables = module.init(key, x, train=False)
        _, seen = module.apply(variables, x, mutable=["batch_stats"], rngs={"dropout": key})
        return {**variables, **seen}

    variables = trained(jax.random.key(0), images(32) * 2 + 1)
    model = flax.load_linen(module, variables, OPTIONS)
    served = ServedModel(model)
    in_use = jax.jit(lambda x: module.apply(variables, x, train=False))
    for rows in (1, 4):
        require_near(served(x=images(rows)), {"output": np.asarray(in_use(images(rows)))})
    assert "params/Dense_0/kernel" in model.weights
    assert "batch_stats/BatchNorm_0/mean" in model.weights


def test_should_refuse_without_shapes_and_name_the_parameter(net: Net) -> None:
    with pytest.raises(RefusedError, match=r"takes images,.*--input 'images=f32\[n,4\]'"):
        flax.load_nnx(net, ImportOptions())


def test_should_name_file_and_line_when_the_module_fails() -> None:
    class Broken(nnx.Module):
        def __call__(self, x: jax.Array) -> jax.Array:
            raise KeyError("no such layer")

    with pytest.raises(RefusedError, match=r"KeyError: 'no such layer' \(.*test_flax_source\.py, "):
        flax.load_nnx(Broken(), OPTIONS)


def test_should_compile_every_length_that_axis_gives() -> None:
    class Mean(nnx.Module):
        def __init__(self) -> None:
            self.table = nnx.Embed(11, 4, rngs=nnx.Rngs(0))

        def __call__(self, ids: jax.Array, mask: jax.Array) -> tuple[jax.Array, jax.Array]:
            found = self.table(ids) * mask[..., None]
            return found, found.sum(1)

    module = Mean()
    inputs = {name: TensorSpec(name, dtype, ("n", "s")) for name, dtype in DTYPES.items()}
    options = ImportOptions(batch_sizes=(2,), inputs=inputs, axes={"s": (3, 5)})
    model = flax.load_nnx(module, options)
    assert [t.shape for t in model.contract.outputs] == [("n", "s", 4), ("n", 4)]
    served = ServedModel(model)
    for length in (3, 5):
        ids = np.arange(2 * length, dtype=np.int32).reshape(2, length)
        mask = np.ones((2, length), np.float32)
        wanted = module(ids, mask)
        got = served(ids=ids, mask=mask)
        require_near(got, {f"output_{i}": np.asarray(each) for i, each in enumerate(wanted)})


def test_should_run_layers_that_count_random_numbers() -> None:
    class Reader(nnx.Module):
        def __init__(self) -> None:
            self.rnn = nnx.RNN(nnx.LSTMCell(2, 3, rngs=nnx.Rngs(0)))

        def __call__(self, x: jax.Array) -> jax.Array:
            return self.rnn(x)

    module = Reader()
    options = ImportOptions(batch_sizes=(2,), inputs={"x": TensorSpec("x", "f32", ("n", 4, 2))})
    x = np.random.default_rng(5).standard_normal((2, 4, 2), np.float32)
    served = ServedModel(flax.load_nnx(module, options))
    wanted = nnx.jit(lambda module, x: module(x))(module, x)
    require_near(served(x=x), {"output": np.asarray(wanted)})


DTYPES = {"ids": "i32", "mask": "f32"}
