import os

os.environ["KERAS_BACKEND"] = "jax"

import io
import re
import stat
import zipfile
from pathlib import Path

import h5py
import keras
import numpy as np
import pytest
from served_model import ServedModel, require_near

from roundhouse_export.contract import TensorSpec
from roundhouse_export.model import ImportOptions, Model, Wide
from roundhouse_export.refusal import RefusedError
from roundhouse_export.sources import keras as source

OPTIONS = ImportOptions(name="net", batch_sizes=(1, 3))


def image_model() -> keras.Model:
    keras.utils.set_random_seed(5)
    pixels = keras.Input((6, 6, 2), name="pixels")
    x = keras.layers.Conv2D(4, 3, name="conv")(pixels)
    x = keras.layers.BatchNormalization(name="norm")(x)
    x = keras.layers.Dropout(0.5, name="dropout")(keras.layers.Activation("relu", name="relu")(x))
    x = keras.layers.GlobalAveragePooling2D(name="pool")(x)
    model = keras.Model(pixels, keras.layers.Dense(3, name="scores")(x))
    rng = np.random.default_rng(1)
    for variable in model.get_layer("norm").variables:
        variable.assign(rng.uniform(0.5, 2, variable.shape))
    return model


def images(rows: int) -> np.ndarray:
    return np.random.default_rng(rows).standard_normal((rows, 6, 6, 2), np.float32)


@pytest.fixture(scope="module")
def built() -> keras.Model:
    return image_model()


@pytest.fixture(scope="module", params=[".keras", ".h5"])
def archived(request: pytest.FixtureRequest, built: keras.Model, tmp_path_factory) -> Model:
    path = tmp_path_factory.mktemp("archive") / f"digits{request.param}"
    built.save(path)
    return source.load(str(path), ImportOptions(batch_sizes=(1, 3)))


def test_should_compute_as_keras_predicts(built: keras.Model, archived: Model) -> None:
    served = ServedModel(archived)
    for rows in (1, 3):
        wanted = built.predict(images(rows), verbose=0)
        require_near(served(pixels=images(rows)), {"scores": wanted})


def test_should_keep_names_and_leave_seeds_out(archived: Model) -> None:
    assert archived.name == "digits"
    assert [(t.name, t.shape) for t in archived.contract.inputs] == [("pixels", ("n", 6, 6, 2))]
    assert set(archived.weights) == {
        "conv/kernel",
        "conv/bias",
        "norm/gamma",
        "norm/beta",
        "norm/moving_mean",
        "norm/moving_variance",
        "scores/kernel",
        "scores/bias",
    }


def test_should_ask_keras_for_any_number_of_rows(built: keras.Model, archived: Model) -> None:
    assert archived.reference is not None
    wanted = built.predict(images(5), verbose=0)
    require_near(archived.reference({"pixels": images(5)}), {"scores": wanted})


def test_should_serve_several_inputs_and_outputs_by_name() -> None:
    keras.utils.set_random_seed(6)
    left, right = keras.Input((4,), name="left"), keras.Input((4,), name="right")
    both = keras.layers.Concatenate()([left, right])
    total = keras.layers.Dense(2, name="total")(both)
    share = keras.layers.Dense(1, activation="sigmoid", name="share")(both)
    model = keras.Model([left, right], [total, share])
    rng = np.random.default_rng(2)
    given = {name: rng.standard_normal((3, 4), np.float32) for name in ("left", "right")}
    wanted = model.predict([given["left"], given["right"]], verbose=0)
    got = ServedModel(source.load_object(model, OPTIONS))(**given)
    require_near(got, {"total": wanted[0], "share": wanted[1]})


def test_should_name_by_keys_where_a_model_takes_and_returns_dicts() -> None:
    keras.utils.set_random_seed(7)
    inputs = {"b": keras.Input((2,), name="b"), "a": keras.Input((3,), name="a")}
    hidden = keras.layers.Dense(4)(keras.layers.Concatenate()([inputs["a"], inputs["b"]]))
    outputs = {"z": keras.layers.Dense(1)(hidden), "y": hidden}
    model = keras.Model(inputs, outputs)
    rng = np.random.default_rng(3)
    given = {
        "a": rng.standard_normal((3, 3), np.float32),
        "b": rng.standard_normal((3, 2), np.float32),
    }
    got = ServedModel(source.load_object(model, OPTIONS))(**given)
    require_near(got, model.predict(given, verbose=0))


def test_should_run_a_recurrent_sequential_at_lengths_that_axis_gives() -> None:
    keras.utils.set_random_seed(8)
    model = keras.Sequential(
        [
            keras.Input((None,), dtype="int32", name="ids"),
            keras.layers.Embedding(9, 4),
            keras.layers.LSTM(5),
            keras.layers.Dense(2, name="scores"),
        ]
    )
    options = ImportOptions(batch_sizes=(2,), axes={"ids.1": (3, 6)})
    served = ServedModel(source.load_object(model, options))
    for length in (3, 6):
        ids = np.random.default_rng(length).integers(0, 9, (2, length), dtype=np.int32)
        require_near(served(ids=ids), {"scores": model.predict(ids, verbose=0)})


def test_should_build_a_subclassed_model_by_the_shapes_it_is_given() -> None:
    class Net(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.hidden = keras.layers.Dense(4)
            self.dropout = keras.layers.Dropout(0.5)

        def call(self, x, training=None):
            return {"hidden": self.dropout(self.hidden(x), training=training)}

    net = Net()
    with pytest.raises(RefusedError, match=r"takes x,.*--input 'x=f32\[n,4\]'"):
        source.load_object(net, OPTIONS)
    options = ImportOptions(batch_sizes=(1, 3), inputs={"x": TensorSpec("x", "f32", ("n", 5))})
    served = ServedModel(source.load_object(net, options))
    x = np.random.default_rng(4).standard_normal((3, 5), np.float32)
    require_near(served(x=x), {"hidden": np.asarray(net(x, training=False)["hidden"])})


@pytest.mark.parametrize("ending", [".keras", ".h5"])
def test_should_refuse_code_in_an_archive_by_name_unless_trusted(
    tmp_path: Path, ending: str
) -> None:
    x = keras.Input((4,), name="x")
    doubled = keras.layers.Lambda(lambda each: each * 2, output_shape=(4,), name="twice")(x)
    path = tmp_path / f"lambda{ending}"
    keras.Model(x, doubled).save(path)
    with pytest.raises(RefusedError, match=r"layer 'twice' \(Lambda\) would run code .*--trust"):
        source.load(str(path), OPTIONS)
    served = ServedModel(source.load(str(path), ImportOptions(batch_sizes=(1,), trust=True)))
    ones = np.ones((1, 4), np.float32)
    require_near(served(x=ones), {"twice": ones * 2})


def saved(folder: Path) -> Path:
    path = folder / "net.keras"
    keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)]).save(path)
    return path


@pytest.mark.parametrize("name", ["../out", "a/../../out", "/tmp/out", "a\\..\\..\\out", "c:/out"])
def test_should_refuse_an_archive_whose_entries_lead_out(tmp_path: Path, name: str) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    path = saved(inner)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(name, b"outside")
    with pytest.raises(RefusedError, match="leads out of the archive"):
        source.load(str(path), OPTIONS)
    assert [each.name for each in tmp_path.rglob("*out")] == []


def test_should_refuse_an_archive_with_a_link(tmp_path: Path) -> None:
    path = saved(tmp_path)
    link = zipfile.ZipInfo("assets/link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(link, "/etc/hostname")
    with pytest.raises(RefusedError, match="'assets/link' is a link"):
        source.load(str(path), OPTIONS)


@pytest.mark.parametrize("how", ["link", "storage"])
def test_should_read_no_other_file_by_the_weights_of_an_archive(tmp_path: Path, how: str) -> None:
    secret = tmp_path / "secret"
    path = saved(tmp_path)
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    weights = io.BytesIO(entries["model.weights.h5"])
    with h5py.File(weights, "r+") as file:
        name = next(n for n in _datasets(file) if file[n].shape == (2, 1))
        del file[name]
        if how == "link":
            with h5py.File(secret, "w") as other:
                other["w"] = np.ones((2, 1), np.float32)
            file[name] = h5py.ExternalLink(str(secret), "/w")
        else:
            secret.write_bytes(bytes(8))
            file.create_dataset(name, (2, 1), np.float32, external=[(str(secret), 0, 8)])
    entries["model.weights.h5"] = weights.getvalue()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    with pytest.raises(RefusedError, match="Keras cannot load it") as told:
        source.load(str(path), OPTIONS)
    assert re.search("(?i)not allowed.*external", str(told.value.__cause__))


def _datasets(file: h5py.File) -> list[str]:
    found: list[str] = []
    file.visititems(lambda name, item: found.append(name) if hasattr(item, "shape") else None)
    return found


@pytest.mark.parametrize("ending", [".keras", ".h5"])
def test_should_refuse_what_is_no_archive(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"broken{ending}"
    path.write_bytes(b"not an archive")
    with pytest.raises(RefusedError, match=r"broken\.\w+ is no archive of a Keras model"):
        source.load(str(path), OPTIONS)


def test_should_refuse_weights_without_a_model(tmp_path: Path) -> None:
    path = tmp_path / "only.weights.h5"
    keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)]).save_weights(path)
    with pytest.raises(RefusedError, match="has weights but no model"):
        source.load(str(path), OPTIONS)


def test_should_refuse_another_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keras.config, "backend", lambda: "torch")
    with pytest.raises(RefusedError, match=r"Keras runs on torch here.*KERAS_BACKEND=jax"):
        source.load_object(None, OPTIONS)


def test_should_refuse_texts_by_the_name_of_the_input() -> None:
    words = keras.Input((1,), dtype="string", name="words")
    model = keras.Model(words, keras.layers.Identity()(words))
    with pytest.raises(RefusedError, match="input 'words' is of string"):
        source.load_object(model, OPTIONS)


def test_should_ask_what_becomes_of_wide_inputs() -> None:
    ids = keras.Input((3,), dtype="int64", name="ids")
    model = keras.Model(ids, keras.layers.Embedding(5, 2, name="found")(ids))
    with pytest.raises(RefusedError, match="input 'ids' is i64; --wide cast makes it i32"):
        source.load_object(model, OPTIONS)
    cast = ImportOptions(batch_sizes=(1,), wide=Wide.CAST)
    served = ServedModel(source.load_object(model, cast))
    given = np.array([[4, 0, 2]], np.int32)
    require_near(served(ids=given), {"found": model.predict(given, verbose=0)})
