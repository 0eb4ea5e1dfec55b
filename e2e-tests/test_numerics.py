"""A program that asks for TF32, as text and as artifact, on a device that has none, under each policy."""

import json
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from roundhouse_export.bundle import Bundle, write_bundle
from roundhouse_export.contract import Contract, TensorSpec
from roundhouse_export.jax_program import Arrays, Encoding, export_programs

from calls import infer
from conftest import Launch

KEY = "--roundhouse.worker.runtime.numerics"
# XLA's CPU backend refuses TF32 for a product of this size.
CONTRACT = Contract((TensorSpec("x", "f32", ("n", 1)),), (TensorSpec("y", "f32", ("n", 1)),), batch_sizes=(1,))
WEIGHTS = {"w": np.array([[1 + 2**-20]], np.float32)}


def forward(inputs: Arrays, weights: Arrays) -> Arrays:
    return {"y": jnp.matmul(inputs["x"], weights["w"], precision=lax.DotAlgorithmPreset.TF32_TF32_F32)}


@pytest.fixture
def models(tmp_path: Path) -> Path:
    for encoding in Encoding:
        name = encoding.name.lower()
        programs = export_programs(name, forward, CONTRACT, WEIGHTS, encoding, platforms=("cuda",))
        write_bundle(Bundle(CONTRACT, "a product in TF32", programs, WEIGHTS, {}), tmp_path / "models" / name)
    return tmp_path / "models"


@pytest.mark.parametrize("policy", ["auto", "f32"])
def test_should_compute_in_f32_when_the_device_has_no_tf32(models: Path, launch: Launch, policy: str) -> None:
    worker = launch(models, f"{KEY}={policy}", f"{KEY}-probe=always").await_ready()
    with worker.client() as client:
        for name in ("text", "artifact"):
            answer = infer(client, name, {"x": np.array([[3]], np.float32)}).as_numpy("y")
            np.testing.assert_array_equal(answer, np.float32(3) * WEIGHTS["w"])
    status, body = worker.get(worker.ports.metrics, "/actuator/info")
    assert status == 200
    line = json.loads(body)["numerics"]
    assert line.startswith(f"{policy}: ")
    assert "; probe: in f32 (" in line
    assert f"numerics {line}" in worker.log()


def test_should_not_start_when_tf32_is_demanded_of_a_device_without(models: Path, launch: Launch) -> None:
    worker = launch(models, f"{KEY}=tf32")
    assert worker.process.wait(60) == 1
    assert "The device cannot keep roundhouse.worker.runtime.numerics: numerics is tf32" in worker.log()
    assert "has no TF32; use auto" in worker.log()
    assert worker.ready_line() is None
