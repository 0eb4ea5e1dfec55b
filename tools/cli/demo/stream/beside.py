"""What the demo compares with: JAX's own decoding on the same weights."""

from pathlib import Path

import jax
import numpy as np

from decoder import WINDOW, scores


class Beside:
    def __init__(self, folder: Path) -> None:
        self._weights = dict(np.load(folder / "weights.npz"))
        self._characters = ["", *(folder / "characters.txt").read_bytes().decode()]
        self._scores = jax.jit(scores)

    def continued(self, beginning: str, most: int) -> list[str]:
        """By the likeliest character each time."""
        tokens = [0, *map(self._characters.index, beginning)]
        made: list[str] = []
        while len(made) < most:
            seen = tokens[-WINDOW:]
            row = np.zeros((1, WINDOW), np.int32)
            row[0, : len(seen)] = seen
            token = int(self._scores(row, self._weights)[0, len(seen) - 1].argmax())
            if token == 0:
                break
            tokens.append(token)
            made.append(self._characters[token])
        return made
