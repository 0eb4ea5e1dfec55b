"""The example programs that come with Triton's Python client, unchanged.

They are in no wheel: ROUNDHOUSE_TRITON_EXAMPLES names a folder with them, ``src/python/examples`` of the repository
triton-inference-server/client. Which others there are, and what they would need: docs/compatibility.md.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import adding_bundle
import java_bundles
import summing_bundle
from conftest import running
from worker_process import SAMPLE_MODELS, WorkerProcess

FOLDER = "ROUNDHOUSE_TRITON_EXAMPLES"
SECONDS = 120
PROGRAMS = (
    "grpc_explicit_byte_content_client.py",
    "grpc_explicit_int8_content_client.py",
    "grpc_explicit_int_content_client.py",
    "reuse_infer_objects_client.py",
    "reuse_infer_objects_client.py -i grpc",
    "simple_grpc_aio_infer_client.py",
    "simple_grpc_async_infer_client.py",
    "simple_grpc_custom_args_client.py",
    "simple_grpc_custom_repeat.py",
    "simple_grpc_health_metadata.py",
    "simple_grpc_infer_client.py",
    "simple_grpc_infer_client.py -C deflate",
    "simple_grpc_infer_client.py -C gzip",
    "simple_grpc_keepalive_client.py",
    "simple_grpc_aio_sequence_stream_infer_client.py",
    "simple_grpc_sequence_stream_infer_client.py",
    "simple_grpc_sequence_sync_infer_client.py",
    "simple_grpc_shm_client.py",
    "simple_grpc_shm_string_client.py",
    "simple_grpc_string_infer_client.py",
    "simple_http_aio_infer_client.py",
    "simple_http_async_infer_client.py",
    "simple_http_health_metadata.py",
    "simple_http_infer_client.py",
    "simple_http_infer_client.py --request-compression-algorithm deflate --response-compression-algorithm gzip",
    "simple_http_sequence_sync_infer_client.py",
    "simple_http_shm_client.py",
    "simple_http_shm_string_client.py",
    "simple_http_string_infer_client.py",
)


@pytest.fixture(scope="module")
def examples() -> Path:
    folder = os.environ.get(FOLDER)
    if not folder:
        pytest.skip(f"{FOLDER} names no folder with Triton's Python examples")
    if not (Path(folder) / "simple_grpc_infer_client.py").is_file():
        pytest.fail(f"{FOLDER}={folder}: there is no simple_grpc_infer_client.py in it")
    return Path(folder)


@pytest.fixture(scope="module")
def example_worker(examples: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """With the models, the name and the shared memory that the programs expect."""
    models = tmp_path_factory.mktemp("models")
    shutil.copytree(SAMPLE_MODELS / "simple", models / "simple")
    adding_bundle.write(models, "simple_int8", "i8")
    summing_bundle.write_marking(models, "simple_sequence")
    java_bundles.write_repeat(models)
    java_bundles.write_strings(models)
    java_bundles.write_identity(models)
    settings = ("--roundhouse.worker.server.name=triton", "--roundhouse.worker.shared-memory.enabled=true")
    with running(models, tmp_path_factory.mktemp("examples") / "log", *settings) as process:
        yield process


@pytest.mark.parametrize("program", PROGRAMS)
def test_should_serve(examples: Path, example_worker: WorkerProcess, program: str) -> None:
    over_grpc = "grpc" in program
    address = example_worker.address if over_grpc else f"127.0.0.1:{example_worker.ports.http}"
    script, *options = program.split()
    command = [sys.executable, str(examples / script), "-u", address, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "failed" not in done.stdout.lower(), done.stdout  # some say so and end with 0
