"""Counts that are known by hand."""

from collections.abc import Mapping
from pathlib import Path

import jax
import numpy as np
import pytest

from roundhouse_export.contract import Contract, TensorSpec
from roundhouse_export.inspection import BundleFacts, inspect
from roundhouse_export.model import Model
from roundhouse_export.pipeline import export_model

ROWS, SIDE, CHANNELS, KERNELS, CLASSES = 2, 8, 3, 4, 5


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> BundleFacts:
    rng = np.random.default_rng(1)
    weights = {
        "kernel": rng.standard_normal((3, 3, CHANNELS, KERNELS)).astype(np.float32),
        "dense": rng.standard_normal((SIDE * SIDE * KERNELS, CLASSES)).astype(np.float32),
    }

    def forward(inputs: Mapping, held: Mapping) -> dict:
        x = jax.lax.conv_general_dilated(
            inputs["x"],
            held["kernel"],
            (1, 1),
            "SAME",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )
        return {"y": x.reshape(x.shape[0], -1) @ held["dense"]}

    contract = Contract(
        (TensorSpec("x", "f32", ("n", SIDE, SIDE, CHANNELS)),),
        (TensorSpec("y", "f32", ("n", CLASSES)),),
        (ROWS,),
    )
    folder: Path = tmp_path_factory.mktemp("models") / "net"
    export_model(Model("net", contract, forward, weights, "none"), folder)
    return inspect(folder)


def test_should_count_flops_of_products(facts: BundleFacts) -> None:
    (program,) = facts.programs
    convolution = 2 * ROWS * SIDE * SIDE * KERNELS * 3 * 3 * CHANNELS
    dense = 2 * ROWS * SIDE * SIDE * KERNELS * CLASSES
    # reshapes and the like count one for each element that they make
    assert convolution + dense <= program.flops <= 1.2 * (convolution + dense)


def test_should_know_the_memory_of_a_run(facts: BundleFacts) -> None:
    (program,) = facts.programs
    assert program.run_bytes is not None
    assert program.run_bytes >= 4 * ROWS * CLASSES


def test_should_list_weights_by_size_and_what_goes_in_and_out(facts: BundleFacts) -> None:
    sizes = [size for _, _, _, size in facts.weights]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(sizes) == 4 * (9 * CHANNELS * KERNELS + SIDE * SIDE * KERNELS * CLASSES)
    assert facts.inputs == [("x", "f32", "[n,8,8,3]")]
    assert facts.outputs == [("y", "f32", "[n,5]")]
    assert facts.custom_calls == []
