"""The digit images that ship inside scikit-learn, a part to train on and a part held out."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

SPLIT_SEED = 1797
HELD_OUT = 360
PIXEL_MAX = 16


@dataclass(frozen=True)
class DigitImages:
    """``pixels`` is uint8 [m, 8, 8] of 0 to 16, ``labels`` uint8 [m], ``indices`` their places in
    scikit-learn's data set."""

    pixels: np.ndarray
    labels: np.ndarray
    indices: np.ndarray

    def scaled(self) -> np.ndarray:
        """Returns the pixels as the model takes them: f32 [m, 8, 8, 1] of 0 to 1."""
        return (self.pixels.astype(np.float32) / PIXEL_MAX)[..., None]

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, pixels=self.pixels, labels=self.labels, indices=self.indices)


def training_images() -> DigitImages:
    return _images(_permutation()[HELD_OUT:])


def held_out_images() -> DigitImages:
    """Returns the images no training step saw, in the data set's order."""
    return _images(np.sort(_permutation()[:HELD_OUT]))


def _permutation() -> np.ndarray:
    return np.random.default_rng(SPLIT_SEED).permutation(len(load_digits().target))


def _images(indices: np.ndarray) -> DigitImages:
    data = load_digits()
    return DigitImages(
        pixels=data.images[indices].astype(np.uint8),
        labels=data.target[indices].astype(np.uint8),
        indices=indices.astype(np.uint16),
    )
