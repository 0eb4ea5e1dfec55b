"""The stock client's asyncio forms, over gRPC and over HTTP. Streams of the former are in ``test_streams.py`` too."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc.aio as triton_grpc
import tritonclient.http.aio as triton_http
from roundhouse_export import samples
from tritonclient.utils import InferenceServerException

from calls import simple_inputs
from worker_process import WorkerProcess

both = pytest.mark.parametrize("library", [triton_grpc, triton_http], ids=["grpc", "http"])
AT_ONCE = 64


def run(library: ModuleType, worker: WorkerProcess, calls: Callable[[Any], Awaitable[Any]]) -> Any:
    address = worker.address if library is triton_grpc else f"127.0.0.1:{worker.ports.http}"

    async def connected() -> Any:
        async with library.InferenceServerClient(address) as client:
            return await calls(client)

    return asyncio.run(connected())


def inputs(library: ModuleType, start: int) -> list[Any]:
    return [
        library.InferInput(name, list(array.shape), "INT32").set_data_from_numpy(array)
        for name, array in simple_inputs(start=start).items()
    ]


def plain(library: ModuleType) -> dict[str, bool]:
    """What makes the gRPC client answer with dictionaries, as the one over HTTP does."""
    return {"as_json": True} if library is triton_grpc else {}


@both
def test_should_read_health_and_metadata(library: ModuleType, worker: WorkerProcess) -> None:
    async def calls(client: Any) -> None:
        assert await client.is_server_live()
        assert await client.is_server_ready()
        assert [await client.is_model_ready(name) for name in ("simple", "ghost")] == [True, False]
        server = await client.get_server_metadata(**plain(library))
        assert server["name"] == "roundhouse"
        assert "statistics" in server["extensions"]
        model = await client.get_model_metadata("simple", **plain(library))
        assert [tensor["name"] for tensor in model["inputs"]] == ["INPUT0", "INPUT1"]

    run(library, worker, calls)


@both
def test_should_read_the_extensions(library: ModuleType, worker: WorkerProcess) -> None:
    async def calls(client: Any) -> None:
        config = await client.get_model_config("simple", **plain(library))
        config = config.get("config", config)
        assert (config["name"], config["backend"]) == ("simple", "xla")
        assert config["max_batch_size"] == max(config["dynamic_batching"]["preferred_batch_size"])
        index = await client.get_model_repository_index(**plain(library))
        lines = index["models"] if library is triton_grpc else index
        assert sorted(line["name"] for line in lines) == sorted(samples.NAMES)
        settings = await client.get_log_settings(**plain(library))
        assert await client.update_log_settings({"log_verbose_level": 0}, **plain(library)) == settings
        traced = await client.get_trace_settings(**plain(library))
        assert traced.get("settings", traced).keys() >= {"trace_level", "trace_rate"}
        regions = await client.get_system_shared_memory_status(**plain(library))
        assert not (regions.get("regions") if library is triton_grpc else regions)

    run(library, worker, calls)


@both
def test_should_count_what_was_answered(library: ModuleType, worker: WorkerProcess) -> None:
    async def calls(client: Any) -> None:
        async def answered() -> int:
            statistics = await client.get_inference_statistics("simple", **plain(library))
            return int(statistics["model_stats"][0].get("inference_count", 0))

        before = await answered()
        await client.infer("simple", inputs(library, 0))
        assert await answered() == before + 1

    run(library, worker, calls)


@both
def test_should_answer_many_calls_at_once(library: ModuleType, worker: WorkerProcess) -> None:
    async def calls(client: Any) -> list[Any]:
        asked = (client.infer("simple", inputs(library, n), request_id=str(n)) for n in range(AT_ONCE))
        return await asyncio.gather(*asked)

    for n, result in enumerate(run(library, worker, calls)):
        arrays = simple_inputs(start=n)
        np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), arrays["INPUT0"] + arrays["INPUT1"])
        np.testing.assert_array_equal(result.as_numpy("OUTPUT1"), arrays["INPUT0"] - arrays["INPUT1"])
        response = result.get_response()
        assert (response.id if library is triton_grpc else response["id"]) == str(n)


@pytest.mark.parametrize("compression", ["gzip", "deflate"])
@both
def test_should_compress(library: ModuleType, worker: WorkerProcess, compression: str) -> None:
    if library is triton_grpc:
        options = {"compression_algorithm": compression}
    else:
        options = {"request_compression_algorithm": compression, "response_compression_algorithm": compression}

    async def calls(client: Any) -> Any:
        return await client.infer("simple", inputs(library, 5), **options)

    np.testing.assert_array_equal(run(library, worker, calls).as_numpy("OUTPUT0"), np.arange(8, 24)[None])


@pytest.mark.parametrize(
    ("library", "status"), [(triton_grpc, "StatusCode.NOT_FOUND"), (triton_http, "404")], ids=["grpc", "http"]
)
def test_should_raise_with_code_and_text(library: ModuleType, status: str, worker: WorkerProcess) -> None:
    async def calls(client: Any) -> None:
        with pytest.raises(InferenceServerException) as failure:
            await client.infer("ghost", inputs(library, 0))
        assert failure.value.status() == status
        assert "Request for unknown model: 'ghost' is not found" in failure.value.message()

    run(library, worker, calls)


def test_should_go_on_after_a_stream_was_cancelled(worker: WorkerProcess) -> None:
    async def calls(client: Any) -> None:
        over = asyncio.Event()

        async def requests() -> AsyncIterator[dict[str, Any]]:
            yield {"model_name": "simple", "inputs": inputs(triton_grpc, 1), "request_id": "first"}
            await over.wait()  # open until it is cancelled

        answers = client.stream_infer(requests())
        result, error = await anext(answers)
        assert error is None
        assert result.get_response().id == "first"
        assert answers.cancel()
        over.set()
        with pytest.raises(asyncio.CancelledError):
            await anext(answers)
        result = await client.infer("simple", inputs(triton_grpc, 2))
        np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), np.arange(5, 21)[None])

    run(triton_grpc, worker, calls)
