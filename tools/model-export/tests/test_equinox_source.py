import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from served_model import ServedModel, require_near

from roundhouse_export.contract import TensorSpec
from roundhouse_export.model import ImportOptions
from roundhouse_export.refusal import RefusedError
from roundhouse_export.sources import equinox

OPTIONS = ImportOptions(
    name="net", batch_sizes=(1, 4), inputs={"x": TensorSpec("x", "f32", ("n", 5))}
)


class Stateful(eqx.Module):
    first: eqx.nn.Linear
    norm: eqx.nn.BatchNorm
    dropout: eqx.nn.Dropout

    def __init__(self, key: jax.Array) -> None:
        self.first = eqx.nn.Linear(5, 3, key=key)
        self.norm = eqx.nn.BatchNorm(3, axis_name="batch", mode="batch")
        self.dropout = eqx.nn.Dropout(0.5)

    def __call__(
        self, x: jax.Array, state: eqx.nn.State, *, key: jax.Array | None = None
    ) -> tuple[jax.Array, eqx.nn.State]:
        x, state = self.norm(self.first(x), state)
        return self.dropout(x, key=key), state


def rows_of(rows: int) -> np.ndarray:
    return np.random.default_rng(rows).standard_normal((rows, 5), np.float32)


def test_should_call_a_module_for_one_sample_row_by_row() -> None:
    module = eqx.nn.MLP(5, 2, 7, 2, key=jax.random.key(0))
    model = equinox.load_object(module, OPTIONS)
    served, in_use = ServedModel(model), jax.jit(jax.vmap(module))
    for rows in (1, 4):
        require_near(served(x=rows_of(rows)), {"output": np.asarray(in_use(rows_of(rows)))})
    assert model.notes == ("the module is called for one row at a time, under vmap",)
    assert "layers/0/weight" in model.weights


def test_should_give_the_whole_batch_to_a_module_that_maps_itself() -> None:
    class Mapped(eqx.Module):
        inner: eqx.nn.MLP

        def __call__(self, x: jax.Array) -> jax.Array:
            return jax.vmap(self.inner)(x)

    module = Mapped(eqx.nn.MLP(5, 2, 7, 1, key=jax.random.key(1)))
    model = equinox.load_object(module, OPTIONS)
    got = ServedModel(model)(x=rows_of(4))
    require_near(got, {"output": np.asarray(module(rows_of(4)))})
    assert model.notes == ("the module takes the whole batch in one call",)


def test_should_use_what_batch_norm_has_learnt() -> None:
    module, state = eqx.nn.make_with_state(Stateful)(jax.random.key(2))
    keys = jax.random.split(jax.random.key(3), 32)
    batched = jax.vmap(
        lambda x, state, key: module(x, state, key=key),
        axis_name="batch",
        in_axes=(0, None, 0),
        out_axes=(0, None),
    )
    _, state = eqx.filter_jit(batched)(rows_of(32) * 3 + 1, state, keys)
    model = equinox.load_object(module, OPTIONS, state=state)
    served = ServedModel(model)
    in_use = eqx.nn.inference_mode(module)
    row_by_row = eqx.filter_jit(jax.vmap(in_use, in_axes=(0, None), out_axes=(0, None)))
    for rows in (1, 4):
        wanted, _ = row_by_row(rows_of(rows), state)
        require_near(served(x=rows_of(rows)), {"output": np.asarray(wanted)})
    assert any(name.startswith("state/") for name in model.weights)


def test_should_take_the_initial_state_of_a_module_that_has_not_been_split() -> None:
    module = Stateful(jax.random.key(4))
    model = equinox.load_object(module, OPTIONS)
    in_use = eqx.nn.inference_mode(module)
    state = eqx.nn.State(module)
    row_by_row = eqx.filter_jit(jax.vmap(in_use, in_axes=(0, None), out_axes=(0, None)))
    wanted, _ = row_by_row(rows_of(4), state)
    require_near(ServedModel(model)(x=rows_of(4)), {"output": np.asarray(wanted)})


def test_should_pass_dropout_through_in_a_sequential() -> None:
    first, second = jax.random.split(jax.random.key(5))
    module = eqx.nn.Sequential(
        [
            eqx.nn.Linear(5, 6, key=first),
            eqx.nn.Lambda(jax.nn.relu),
            eqx.nn.Dropout(0.9),
            eqx.nn.Linear(6, 2, key=second),
        ]
    )
    model = equinox.load_object(module, OPTIONS)
    wanted = jax.jit(jax.vmap(eqx.nn.inference_mode(module)))(rows_of(4))
    require_near(ServedModel(model)(x=rows_of(4)), {"output": np.asarray(wanted)})


def test_should_call_once_where_there_is_no_batch() -> None:
    module = eqx.nn.Linear(5, 2, key=jax.random.key(6))
    options = ImportOptions(inputs={"x": TensorSpec("x", "f32", (5,))})
    model = equinox.load_object(module, options)
    x = jnp.arange(5, dtype=jnp.float32)
    require_near(ServedModel(model)(x=np.asarray(x)), {"output": np.asarray(module(x))})
    assert model.notes == ()


def test_should_tell_both_faults_when_neither_way_can_be_traced() -> None:
    module = eqx.nn.Linear(4, 2, key=jax.random.key(7))
    with pytest.raises(RefusedError, match=r"not for one row .*, and for the whole ") as told:
        equinox.load_object(module, OPTIONS)
    assert "\n" not in str(told.value)
