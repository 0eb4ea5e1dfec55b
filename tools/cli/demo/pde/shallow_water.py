"""Water in a square basin with a shoal: what the model 'water' computes for one step of time.

Heights are above still water; lengths in cells, depth and gravity 1, so that waves run a cell in a unit of time. Speeds
stand on the faces between cells, ``east`` of each and ``south`` of it: no water comes from nowhere, and none gets lost.
"""

from collections.abc import Mapping

import jax.numpy as jnp
import numpy as np
from jax import Array
from roundhouse_export.contract import Contract, TensorSpec

SIDE = 512
TIME_STEP = 0.5  # waves may not run further in it than 0.7 cells
STONE = 5.0  # cells across which a stone pushes
SHOWN = 4  # cells to a pixel of 'picture'
CONTRAST = 1200

GRID = (SIDE, SIDE)
FIELD = ("height", "east", "south")
CONTRACT = Contract(
    inputs=(*(TensorSpec(f"{name}_in", "f32", GRID) for name in FIELD), TensorSpec("stone", "f32", (3,))),
    outputs=(
        *(TensorSpec(f"{name}_out", "f32", GRID) for name in FIELD),
        TensorSpec("figures", "f32", (3,)),
        TensorSpec("picture", "u8", (SIDE // SHOWN, SIDE // SHOWN)),
        TensorSpec("surface", "f32", GRID),
    ),
)
SERVING = {
    "sequence": {
        "idle": "60s",
        "state": [{"input": f"{name}_in", "output": f"{name}_out", "initial": "zero"} for name in FIELD],
    }
}


def depths() -> np.ndarray:
    """The bundle's only weight."""
    y, x = np.mgrid[:SIDE, :SIDE]
    return (1 - 0.8 * np.exp(-((x - 330) ** 2 + (y - 256) ** 2) / (2 * 50**2))).astype(np.float32)


def step(inputs: Mapping[str, Array], weights: Mapping[str, Array]) -> Mapping[str, Array]:
    height, east, south = (inputs[f"{name}_in"] for name in FIELD)
    x, y, push = inputs["stone"]
    place = jnp.arange(SIDE, dtype=jnp.float32)
    across, down = (jnp.exp(-((place - at) ** 2) / (2 * STONE**2)) for at in (x, y))
    height = height + push * down[:, None] * across[None, :]

    # water runs downhill, and into no wall
    east = jnp.pad(east[:, :-1] - TIME_STEP * (height[:, 1:] - height[:, :-1]), ((0, 0), (0, 1)))
    south = jnp.pad(south[:-1] - TIME_STEP * (height[1:] - height[:-1]), ((0, 1), (0, 0)))

    # what runs through a face is missing on one side and more on the other
    column = weights["depth"] + height
    through = jnp.pad(east[:, :-1] * (column[:, :-1] + column[:, 1:]) / 2, ((0, 0), (1, 1)))
    height = height - TIME_STEP * (through[:, 1:] - through[:, :-1])
    through = jnp.pad(south[:-1] * (column[:-1] + column[1:]) / 2, ((1, 1), (0, 0)))
    height = height - TIME_STEP * (through[1:] - through[:-1])

    shown = height.reshape(SIDE // SHOWN, SHOWN, SIDE // SHOWN, SHOWN).mean((1, 3))
    return {
        "height_out": height,
        "east_out": east,
        "south_out": south,
        "figures": jnp.stack([height.mean(), height.min(), height.max()]),
        "picture": jnp.clip(128 + CONTRAST * shown, 0, 255).astype(jnp.uint8),
        "surface": height,
    }
