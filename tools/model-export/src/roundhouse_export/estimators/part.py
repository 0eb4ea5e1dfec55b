"""What a fitted estimator becomes, and what is gathered while it is translated."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import jax.numpy as jnp
import numpy as np

from roundhouse_export.refusal import RefusedError

Array = Any
Weights = Mapping[str, Any]
Apply = Callable[[Array, Weights], dict[str, Array]]

TRANSFORMED = "transformed"
PREDICTION = "prediction"
PROBABILITIES = "probabilities"
SCORES = "scores"
INDEX = "index"
LABEL = "label"
DISTANCES = "distances"


class Kind(Enum):
    """What an estimator is for, which decides the outputs of its model."""

    TRANSFORMER = "transformed"
    REGRESSOR = "prediction"
    CLASSIFIER = "index, with probabilities or scores"
    CLUSTERER = "label and distances"
    OUTLIERS = "label (1 or -1) and scores"


@dataclass(frozen=True)
class Part:
    """One estimator of a model. ``apply`` takes rows [n, features] and returns values by name.

    A classifier returns ``index``, the position of the class in ``classes``, and beside it
    ``probabilities`` [n, classes], ``scores`` ([n] for two classes, else [n, classes]) or both.
    """

    kind: Kind
    apply: Apply
    classes: np.ndarray | None = None


@dataclass
class Building:
    """The weights and notes of the model being built; ``dtype`` is what it computes in."""

    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.float32))
    weights: dict[str, np.ndarray] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def numbers(self, path: str, name: str, values: Any) -> str:
        """Adds a weight of the model's float type and returns its key."""
        with np.errstate(over="ignore"):
            array = np.asarray(values, np.float64).astype(self.dtype)
        return self.keep(path, name, array)

    def keep(self, path: str, name: str, array: np.ndarray) -> str:
        key = join(path, name)
        if key in self.weights:
            raise ValueError(f"weight '{key}' is there already")
        self.weights[key] = array
        return key

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def refuse(path: str, estimator: object, why: str) -> RefusedError:
    """For ``raise refuse(...)``; the message names the step and the class."""
    where = f"step '{path}'" if path else "the model"
    return RefusedError(f"{where}: {type(estimator).__name__}: {why}")


def transformer(function: Callable[[Array, Weights], Array]) -> Part:
    return Part(Kind.TRANSFORMER, lambda x, w: {TRANSFORMED: function(x, w)})


def regressor(function: Callable[[Array, Weights], Array]) -> Part:
    return Part(Kind.REGRESSOR, lambda x, w: {PREDICTION: function(x, w)})


def by_probabilities(function: Callable[[Array, Weights], Array], classes: np.ndarray) -> Part:
    """A classifier whose label is the most probable class, the first of equals."""

    def apply(x: Array, weights: Weights) -> dict[str, Array]:
        probabilities = function(x, weights)
        return {PROBABILITIES: probabilities, INDEX: jnp.argmax(probabilities, axis=1)}

    return Part(Kind.CLASSIFIER, apply, classes)


def index_of_scores(scores: Array) -> Array:
    """The class that scores choose: the sign for two classes, else the highest."""
    if scores.ndim == 1:
        return (scores > 0).astype(np.int32)
    return jnp.argmax(scores, axis=1)


def two_columns(positive: Array) -> Array:
    """Probabilities [n, 2] from those of the second class."""
    return jnp.stack([1 - positive, positive], axis=1)


def sum_to_one(values: Array) -> Array:
    """Divides rows by their sums; a row of zeros becomes the same probability for each."""
    total = jnp.sum(values, axis=1, keepdims=True)
    return jnp.where(total == 0, 1 / values.shape[1], values / jnp.where(total == 0, 1, total))


def single_output(estimator: Any, path: str) -> np.ndarray:
    """The classes of a classifier of one output; refuses several."""
    classes = estimator.classes_
    if isinstance(classes, list):
        raise refuse(path, estimator, "several outputs are not supported; export one model each")
    return np.asarray(classes)
