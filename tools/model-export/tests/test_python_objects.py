import itertools
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from served_model import ServedModel, require_near

from roundhouse_export import sources
from roundhouse_export.contract import TensorSpec
from roundhouse_export.model import ImportOptions, Model, Wide
from roundhouse_export.refusal import RefusedError

X = {"x": TensorSpec("x", "f32", ("n", 3))}
OPTIONS = ImportOptions(batch_sizes=(1, 4), inputs=X)
_NUMBERS = itertools.count()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(folder: Path, code: str) -> str:
    """Writes a module, under a name that no other test has imported."""
    name = f"persons_{next(_NUMBERS)}"
    (folder / f"{name}.py").write_text(textwrap.dedent(code))
    return name


def loaded(folder: Path, code: str, attribute: str, options: ImportOptions = OPTIONS) -> Model:
    return sources.load(f"{written(folder, code)}:{attribute}", options)


FUNCTION = """
    import numpy as np

    class Models:
        class inner:
            weights = {
                "layer1": {"kernel": np.arange(6, dtype=np.float32).reshape(3, 2), "scale": 2.0},
                "bias": [np.ones(2, np.float32), (np.float32([3, 4]),)],
            }

    def forward(parameters, x):
        hidden = x @ parameters["layer1"]["kernel"] * parameters["layer1"]["scale"]
        return hidden + parameters["bias"][0] + parameters["bias"][1][0]

    def both():
        return forward, Models.inner.weights

    model = both()
    Models.inner.deep = model
"""


@pytest.mark.parametrize("attribute", ["model", "both", "Models.inner.deep"])
def test_should_find_a_function_and_its_tree(folder: Path, attribute: str) -> None:
    model = loaded(folder, FUNCTION, attribute)
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    kernel = np.arange(6, dtype=np.float32).reshape(3, 2)
    wanted = {"output": x @ kernel * 2 + np.float32([4, 5])}
    assert set(model.weights) == {"layer1/kernel", "bias/0", "bias/1/0"}
    require_near(ServedModel(model)(x=x), wanted)
    assert model.reference is not None
    require_near(model.reference({"x": x}), wanted)


def test_should_call_a_model_by_its_attribute_or_else_by_its_module(folder: Path) -> None:
    assert loaded(folder, FUNCTION, "both").name == "both"
    module = written(folder, FUNCTION)
    assert sources.load(f"{module}:model", OPTIONS).name == module
    named = ImportOptions(name="mine", inputs=X)
    assert loaded(folder, FUNCTION, "both", named).name == "mine"


def test_should_pass_inputs_by_name_as_a_mapping_or_in_order(folder: Path) -> None:
    code = """
        import typing, jax
        def by_name(parameters, *, scale, x, train=True):
            assert not train
            return x * scale
        def mapping(parameters, batch):
            return batch["x"] * batch["scale"]
        def annotated(parameters, batch: dict[str, jax.Array]):
            return batch["x"] * 3
        def ordered(parameters, first, second):
            return first - second
        a, b, c, d = (by_name, {}), (mapping, ()), (annotated, None), (ordered, [])
    """
    module = written(folder, code)
    two = {**X, "scale": TensorSpec("scale", "f32", ("n", 1))}
    x, scale = np.float32([[1, 2, 3]]), np.float32([[5]])
    options = ImportOptions(batch_sizes=(1,), inputs=two)
    for attribute, wanted in (("a", x * 5), ("b", x * 5), ("d", x - 5)):
        served = ServedModel(sources.load(f"{module}:{attribute}", options))
        require_near(served(x=x, scale=scale), {"output": wanted})
    served = ServedModel(sources.load(f"{module}:c", OPTIONS))
    require_near(served(x=x), {"output": x * 3})
    with pytest.raises(RefusedError, match="takes first, second, and the inputs are x;"):
        sources.load(f"{module}:d", OPTIONS)


def test_should_name_outputs_in_the_order_they_are_returned(folder: Path) -> None:
    code = """
        import collections, jax
        Pair = collections.namedtuple("Pair", "left right")
        def outputs(parameters, x):
            return {"z": x, "a": (x + 1, None, x + 2), "pair": Pair(x + 3, {"deep": x + 4})}
        model = (outputs, {})
    """
    model = loaded(folder, code, "model")
    names = [tensor.name for tensor in model.contract.outputs]
    assert names == ["z", "a_0", "a_2", "pair/left", "pair/right/deep"]
    x = np.ones((1, 3), np.float32)
    got = ServedModel(model)(x=x)
    assert [float(got[name][0, 0]) for name in names] == [1, 2, 3, 4, 5]


def test_should_find_modules_of_each_framework(folder: Path) -> None:
    code = """
        import equinox as eqx, flax.linen as linen, jax, jax.numpy as jnp, keras
        from flax import nnx

        class Net(nnx.Module):
            def __init__(self):
                self.layer = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
            def __call__(self, x):
                return self.layer(x)

        instance = Net()
        dense = linen.Dense(2)
        with_variables = (dense, dense.init(jax.random.key(0), jnp.zeros((1, 3))))
        class Stateful(eqx.Module):
            norm: eqx.nn.BatchNorm
            def __init__(self):
                self.norm = eqx.nn.BatchNorm(3, "batch", mode="batch")
            def __call__(self, x, state):
                return self.norm(x, state)
        with_state = eqx.nn.make_with_state(Stateful)()
        def mlp():
            return eqx.nn.MLP(3, 2, 4, 1, key=jax.random.key(0))
        def sequential():
            return keras.Sequential([keras.Input((3,), name="x"), keras.layers.Dense(2)])
    """
    module = written(folder, code)
    x = np.ones((4, 3), np.float32)
    frameworks = {
        "Net": "flax",
        "instance": "flax",
        "with_variables": "flax",
        "with_state": "equinox",
        "mlp": "equinox",
        "sequential": "keras",
    }
    for attribute, framework in frameworks.items():
        model = sources.load(f"{module}:{attribute}", OPTIONS)
        assert model.framework.split()[0] == framework
        assert model.reference is not None
        require_near(ServedModel(model)(x=x), model.reference({"x": x}))


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        (
            "number",
            "is an object of type int; accepted are: a Flax NNX, Equinox, Keras or PyTorch module",
        ),
        ("forward", "is a function that needs parameters, x; give one that needs nothing"),
        ("Needs", "is a class that needs size"),
        ("returns_text", "returns an object of type str; accepted are"),
        ("triple", "is a tuple of int, int, int; accepted are"),
        ("dense", "is the Linen module Dense without variables"),
        ("forwrd", "has no attribute 'forwrd'; did you mean 'forward'?"),
        ("fails", r"calling it: ZeroDivisionError: division by zero \(persons_\d+\.py, line 8\)"),
        ("exits", r"calling it: SystemExit: 3 \(persons_\d+\.py, line 10\)"),
        ("imaginary", "output 'wave': numpy type complex64 has no place in a bundle"),
        ("texts", "it returns a str as 'label'; a model returns arrays"),
        ("traced", r"ValueError: of two\. \(persons_\d+\.py, line 12\)"),
    ],
)
def test_should_refuse_in_one_line_what_is_none_of_them(
    folder: Path, attribute: str, message: str
) -> None:
    code = """\
        import sys, flax.linen
        number, triple, dense = 3, (1, 2, 3), flax.linen.Dense(2)
        def forward(parameters, x): return x
        class Needs:
            def __init__(self, size): pass
        def returns_text(): return "text"
        def fails():
            1 / 0
        def exits():
            sys.exit(3)
        def bad(parameters, x):
            raise ValueError("of two.\\nlines")
        traced = (bad, {})
        def complex_output(parameters, x): return {"wave": x + 1j}
        imaginary = (complex_output, {})
        def text(parameters, x): return {"label": "yes"}
        texts = (text, {})
    """
    with pytest.raises(RefusedError, match=message) as told:
        loaded(folder, code, attribute)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "import no_such_package",
            r"ModuleNotFoundError: No module named 'no_such_package' \(pers",
        ),
        ("x = 1\ny = (", r"SyntaxError: '\(' was never closed \(.*persons_\d+\.py, line 2\)"),
        ("\n\nraise KeyError('a')", r"KeyError: 'a' \(persons_\d+\.py, line 3\)"),
    ],
)
def test_should_name_the_line_when_the_module_cannot_be_imported(
    folder: Path, code: str, message: str
) -> None:
    with pytest.raises(RefusedError, match=f"cannot import 'persons_.*{message}") as told:
        loaded(folder, code, "model")
    assert "\n" not in str(told.value)


def test_should_say_what_a_torch_module_needs(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = """
        import sys, types
        nn = types.ModuleType("torch.nn")
        class Module: pass
        nn.Module = Module
        sys.modules["torch.nn"] = nn
        class Net(Module): pass
        model = Net()
    """
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "torch.nn", None)  # so that the module's own is undone
    monkeypatch.delitem(sys.modules, "roundhouse_export.sources.torch", raising=False)
    with pytest.raises(RefusedError, match=r"needs the package 'torch': pip install"):
        loaded(folder, code, "model")


def test_should_hand_fitted_estimators_to_their_own_source(folder: Path) -> None:
    code = """
        import numpy as np
        from sklearn.linear_model import LinearRegression
        X = np.random.default_rng(0).standard_normal((20, 3))
        def fitted():
            return LinearRegression().fit(X, X @ [1, 2, 3])
    """
    model = loaded(folder, code, "fitted", ImportOptions(batch_sizes=(1, 4)))
    assert model.name == "fitted"
    name = model.contract.inputs[0].name
    x = np.random.default_rng(1).standard_normal((4, 3)).astype(np.float32)
    (got,) = ServedModel(model)(**{name: x}).values()
    np.testing.assert_allclose(got.reshape(-1), x @ np.float32([1, 2, 3]), rtol=1e-4, atol=1e-4)


WIDE = """
    import numpy as np
    def forward(parameters, x):
        return (x * parameters["w"])[:, parameters["ids"]]
    model = (forward, {"w": np.float64([0.1, 0.2, 0.3]), "ids": np.array([2, 0])})
    large = (forward, {"w": np.float64([1e300, 1, 1]), "ids": np.array([2, 0])})
    many = (forward, {"w": np.float32([1, 1, 1]), "ids": np.array([2**40, 0])})
"""


def test_should_refuse_cast_or_keep_weights_of_64_bits(folder: Path) -> None:
    module = written(folder, WIDE)
    with pytest.raises(RefusedError, match="weight 'ids' is int64; --wide cast makes it int32"):
        sources.load(f"{module}:model", OPTIONS)
    x = np.float32([[1, 2, 3]])
    for wide, dtype in ((Wide.CAST, np.float32), (Wide.KEEP, np.float64)):
        options = ImportOptions(batch_sizes=(1,), inputs=X, wide=wide)
        model = sources.load(f"{module}:model", options)
        assert model.weights["w"].dtype == dtype
        got = ServedModel(model)(x=x)["output"]
        assert got.dtype == dtype
        np.testing.assert_allclose(got, [[0.9, 0.1]], rtol=1e-6)
        assert model.reference is not None
        np.testing.assert_allclose(model.reference({"x": x})["output"], got, rtol=1e-7)


@pytest.mark.parametrize(("attribute", "value"), [("large", "1e+300"), ("many", "1099511627776")])
def test_should_refuse_to_cast_what_does_not_fit(folder: Path, attribute: str, value: str) -> None:
    options = ImportOptions(batch_sizes=(1,), inputs=X, wide=Wide.CAST)
    with pytest.raises(RefusedError, match=f"has {value.replace('+', '.')}, which .* cannot hold"):
        loaded(folder, WIDE, attribute, options)


def test_should_refuse_parameters_that_share_a_name(folder: Path) -> None:
    code = """
        import numpy as np
        a = np.ones(3, np.float32)
        model = (lambda p, x: x, {"l": {"w": a}, "l/w": a})
    """
    with pytest.raises(RefusedError, match="two parameters have the name 'l/w'"):
        loaded(folder, code, "model")
