"""What the demo compares with: the same steps in numpy."""

from pathlib import Path

import numpy as np

TIME_STEP = np.float32(0.5)
STONE = np.float32(5)


class Beside:
    def __init__(self, folder: Path) -> None:
        self._depth = np.load(folder / "depth.npy")
        self._place = np.arange(len(self._depth), dtype=np.float32)
        self.height, self._east, self._south = (np.zeros_like(self._depth) for _ in range(3))

    def step(self, stone: np.ndarray) -> None:
        """A step of time, after a stone of x, y and height has fallen."""
        x, y, push = stone
        if push:
            self.height += push * np.outer(self._bump(y), self._bump(x))
        self._east[:, :-1] -= TIME_STEP * np.diff(self.height, axis=1)
        self._south[:-1] -= TIME_STEP * np.diff(self.height, axis=0)
        column = self._depth + self.height
        self._flow(self._east[:, :-1] * (column[:, :-1] + column[:, 1:]) / 2, axis=1)
        self._flow(self._south[:-1] * (column[:-1] + column[1:]) / 2, axis=0)

    def _bump(self, middle: np.float32) -> np.ndarray:
        return np.exp(-((self._place - middle) ** 2) / (2 * STONE**2))

    def _flow(self, through: np.ndarray, axis: int) -> None:
        wall = np.float32(0)
        self.height -= TIME_STEP * np.diff(through, axis=axis, prepend=wall, append=wall)
