"""Tensors in system shared memory, as the stock examples use it: over gRPC and over HTTP."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as triton_grpc
import tritonclient.http as triton_http
import tritonclient.utils.shared_memory as shm
from tritonclient.utils import InferenceServerException

import perf_load
from client_tools import LinkedProgram
from conftest import running
from worker_process import SAMPLE_MODELS, WorkerProcess

BYTES = 64  # of one tensor of the model "simple"


@pytest.fixture(scope="module")
def sharing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    log = tmp_path_factory.mktemp("sharing") / "log"
    with running(SAMPLE_MODELS, log, "--roundhouse.worker.shared-memory.enabled=true") as process:
        yield process


def over_grpc(worker: WorkerProcess) -> tuple[Any, Any]:
    return triton_grpc, triton_grpc.InferenceServerClient(worker.address)


def over_http(worker: WorkerProcess) -> tuple[Any, Any]:
    return triton_http, triton_http.InferenceServerClient(f"127.0.0.1:{worker.ports.http}")


Connect = Callable[[WorkerProcess], tuple[Any, Any]]
both = pytest.mark.parametrize("connect", [over_grpc, over_http])


@both
def test_should_serve_the_stock_shared_memory_example(sharing: WorkerProcess, connect: Connect) -> None:
    library, client = connect(sharing)
    client.unregister_system_shared_memory()
    client.unregister_cuda_shared_memory()
    inputs = shm.create_shared_memory_region("input_data", "/roundtrip_input", 2 * BYTES)
    outputs = shm.create_shared_memory_region("output_data", "/roundtrip_output", 2 * BYTES)
    try:
        first = np.arange(16, dtype=np.int32)
        second = np.full(16, 3, dtype=np.int32)
        shm.set_shared_memory_region(inputs, [first, second])
        client.register_system_shared_memory("input_data", "/roundtrip_input", 2 * BYTES)
        client.register_system_shared_memory("output_data", "/roundtrip_output", 2 * BYTES)
        asked = [library.InferInput("INPUT0", [1, 16], "INT32"), library.InferInput("INPUT1", [1, 16], "INT32")]
        asked[0].set_shared_memory("input_data", BYTES)
        asked[1].set_shared_memory("input_data", BYTES, offset=BYTES)
        wanted = [library.InferRequestedOutput("OUTPUT0"), library.InferRequestedOutput("OUTPUT1")]
        wanted[0].set_shared_memory("output_data", BYTES)
        wanted[1].set_shared_memory("output_data", BYTES, offset=BYTES)

        result = client.infer("simple", asked, outputs=wanted)

        for name, offset, expected in (("OUTPUT0", 0, first + second), ("OUTPUT1", BYTES, first - second)):
            assert result.get_output(name) is not None
            answered = shm.get_contents_as_numpy(outputs, np.int32, [1, 16], offset=offset)
            np.testing.assert_array_equal(answered[0], expected)
        status = client.get_system_shared_memory_status()
        names = status.regions if library is triton_grpc else [region["name"] for region in status]
        assert sorted(names) == ["input_data", "output_data"]
        client.unregister_system_shared_memory()
        with pytest.raises(InferenceServerException, match="Unable to find shared memory region: 'input_data'"):
            client.infer("simple", asked, outputs=wanted)
    finally:
        shm.destroy_shared_memory_region(inputs)
        shm.destroy_shared_memory_region(outputs)
        client.close()


@both
def test_should_tell_an_inline_output_beside_one_in_shared_memory(sharing: WorkerProcess, connect: Connect) -> None:
    library, client = connect(sharing)
    region = shm.create_shared_memory_region("mixed", "/roundtrip_mixed", BYTES)
    try:
        client.register_system_shared_memory("mixed", "/roundtrip_mixed", BYTES)
        arrays = [np.arange(16, dtype=np.int32).reshape(1, 16), np.ones((1, 16), dtype=np.int32)]
        asked = [library.InferInput(f"INPUT{i}", [1, 16], "INT32") for i in range(2)]
        for tensor, array in zip(asked, arrays, strict=True):
            tensor.set_data_from_numpy(array)
        wanted = [library.InferRequestedOutput("OUTPUT0"), library.InferRequestedOutput("OUTPUT1")]
        wanted[0].set_shared_memory("mixed", BYTES)

        result = client.infer("simple", asked, outputs=wanted)

        np.testing.assert_array_equal(result.as_numpy("OUTPUT1"), arrays[0] - arrays[1])
        answered = shm.get_contents_as_numpy(region, np.int32, [1, 16])
        np.testing.assert_array_equal(answered, arrays[0] + arrays[1])
    finally:
        client.unregister_system_shared_memory()
        shm.destroy_shared_memory_region(region)
        client.close()


@pytest.mark.parametrize("over", ["grpc", "http"])
def test_should_serve_perf_analyzer(perf_analyzer: LinkedProgram, sharing: WorkerProcess, over: str) -> None:
    perf_load.send(perf_analyzer, sharing, over, "--shared-memory=system", f"--output-shared-memory-size={BYTES}")


@both
def test_should_refuse_while_it_is_off(worker: WorkerProcess, connect: Connect) -> None:
    _, client = connect(worker)
    client.unregister_system_shared_memory()
    client.unregister_cuda_shared_memory()
    assert not getattr(client.get_system_shared_memory_status(), "regions", [])
    with pytest.raises(InferenceServerException, match="Client shared memory is disabled"):
        client.register_system_shared_memory("r", "/roundtrip_off", BYTES)
    client.close()


def test_should_refuse_weights_of_the_server(sharing: WorkerProcess) -> None:
    with triton_grpc.InferenceServerClient(sharing.address) as client:
        with pytest.raises(InferenceServerException, match="not for clients"):
            client.register_system_shared_memory("r", "/roundhouse-anything", BYTES)
        with pytest.raises(InferenceServerException, match="a key is a name"):
            client.register_system_shared_memory("r", "/../etc/hostname", 1)
        with pytest.raises(InferenceServerException, match="Unable to open shared memory region"):
            client.register_system_shared_memory("r", "/no-such-object", BYTES)
    assert not Path("/dev/shm/no-such-object").exists()
