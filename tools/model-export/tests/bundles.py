"""A small bundle for tests of the writers."""

import numpy as np

from roundhouse_export.bundle import Bundle
from roundhouse_export.contract import Contract, TensorSpec

CONTRACT = Contract(
    inputs=(TensorSpec("ids", "i32", ("n", "s")), TensorSpec("mask", "bool", ("n", "s", 3))),
    outputs=(TensorSpec("scores", "f32", ("n", 2), labels="labels.txt"),),
    batch_sizes=(1, 4),
    variants=({"s": 16}, {"s": 32}),
)


def small_bundle(**changes: object) -> Bundle:
    parts = {
        "contract": CONTRACT,
        "description": "a test",
        "programs": {key: key.file_name.encode() for key in CONTRACT.programs()},
        "weights": {"w": np.arange(6, dtype=np.float32).reshape(2, 3)},
        "provenance": {"framework": "none", "created": "2026-11-21T00:00:00Z"},
        "assets": {"labels.txt": b"no\nyes\n"},
    }
    return Bundle(**{**parts, **changes})
