"""Triton's extensions about models and the server, with the stock client."""

import json
import os
import threading
import uuid
from collections.abc import Iterator
from multiprocessing import shared_memory
from pathlib import Path

import grpc
import numpy as np
import pytest
import tritonclient.grpc as triton
import tritonclient.http as triton_http
from roundhouse_export import samples
from tritonclient.grpc import model_config_pb2
from tritonclient.utils import InferenceServerException, triton_to_np_dtype

from calls import arrays, infer, simple_inputs
from conftest import Launch, running
from node_process import workers_behind_gateway
from worker_process import SAMPLE_MODELS, WorkerProcess, wait_until

SECONDS = 30
COMPUTE = ("compute_input", "compute_infer", "compute_output")
STAGES = [
    "REQUEST_START",
    "QUEUE_START",
    "COMPUTE_START",
    "COMPUTE_INPUT_END",
    "COMPUTE_OUTPUT_START",
    "COMPUTE_END",
    "REQUEST_END",
]
TAKE_BACK = {"trace_level": None, "trace_rate": None, "trace_count": None, "log_frequency": None}


def refused(failure: pytest.ExceptionInfo[InferenceServerException], code: str, text: str) -> bool:
    return failure.value.status() == f"StatusCode.{code}" and text in failure.value.message()


# --- ModelConfig


@pytest.mark.parametrize("name", samples.NAMES)
def test_should_tell_the_configuration_that_fits_the_metadata(client: triton.InferenceServerClient, name: str) -> None:
    config = client.get_model_config(name).config
    metadata = client.get_model_metadata(name)
    assert (config.name, config.platform, config.backend) == (name, metadata.platform, "xla")
    batch = [-1] if config.max_batch_size > 0 else []
    for described, stated in ((config.input, metadata.inputs), (config.output, metadata.outputs)):
        assert [(t.name, batch + list(t.dims)) for t in described] == [(t.name, list(t.shape)) for t in stated]
        for tensor, metadata_tensor in zip(described, stated, strict=True):
            type_name = model_config_pb2.DataType.Name(tensor.data_type)
            assert type_name == "TYPE_" + metadata_tensor.datatype.replace("BYTES", "STRING")
    if config.default_model_filename:
        assert (SAMPLE_MODELS / name / config.default_model_filename).is_file()
    assert [(group.kind, group.count) for group in config.instance_group] == [(2, 1)]


def test_should_tell_compiled_sizes_when_requests_run_together(client: triton.InferenceServerClient) -> None:
    config = client.get_model_config("simple", as_json=True)["config"]
    sizes = config["dynamic_batching"]["preferred_batch_size"]
    assert config["max_batch_size"] == max(sizes)
    for size in sizes:
        assert (SAMPLE_MODELS / "simple" / f"model.b{size}.mlir").is_file()


def test_should_refuse_the_configuration_of_an_unknown_model(client: triton.InferenceServerClient) -> None:
    with pytest.raises(InferenceServerException) as failure:
        client.get_model_config("ghost")
    assert refused(failure, "NOT_FOUND", "Request for unknown model: 'ghost' is not found")


# --- ModelStatistics


def test_should_count_what_has_been_answered(client: triton.InferenceServerClient) -> None:
    before = client.get_inference_statistics("simple").model_stats[0]
    for rows in (1, 2, 2):
        infer(client, "simple", simple_inputs(rows))
    after = client.get_inference_statistics("simple", "1").model_stats[0]

    assert after.inference_count - before.inference_count == 5
    assert after.execution_count - before.execution_count == 3
    assert after.inference_stats.success.count - before.inference_stats.success.count == 3
    assert after.last_inference >= before.last_inference > 0 or before.last_inference == 0
    assert sum(batch.batch_size * batch.compute_infer.count for batch in after.batch_stats) == after.inference_count


def test_should_never_show_counts_that_disagree_while_requests_are_answered(worker: WorkerProcess) -> None:
    over = threading.Event()

    def call() -> None:
        with worker.client() as calling:
            while not over.is_set():
                infer(calling, "simple", simple_inputs(3))

    callers = [threading.Thread(target=call) for _ in range(4)]
    for caller in callers:
        caller.start()
    try:
        with worker.client() as client:
            seen = 0
            for _ in range(300):
                stats = client.get_inference_statistics("simple").model_stats[0]
                counts = {getattr(stats.inference_stats, kind).count for kind in ("success", "queue", *COMPUTE)}
                assert counts == {stats.inference_stats.success.count}
                for batch in stats.batch_stats:
                    assert len({getattr(batch, kind).count for kind in COMPUTE}) == 1
                executions = sum(batch.compute_infer.count for batch in stats.batch_stats)
                assert executions == stats.execution_count
                assert stats.inference_stats.success.count >= seen
                seen = stats.inference_stats.success.count
    finally:
        over.set()
        for caller in callers:
            caller.join(SECONDS)
    assert seen > 0


def test_should_name_every_model_when_statistics_of_none_are_asked_for(client: triton.InferenceServerClient) -> None:
    named = [stats.name for stats in client.get_inference_statistics().model_stats]
    assert named == sorted(samples.NAMES)


def test_should_refuse_statistics_of_an_unknown_model(client: triton.InferenceServerClient) -> None:
    with pytest.raises(InferenceServerException) as failure:
        client.get_inference_statistics("ghost")
    assert refused(failure, "INVALID_ARGUMENT", "requested model 'ghost' is not available")


# --- LogSettings and TraceSetting, on a worker of their own


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[WorkerProcess, Path]]:
    if workers_behind_gateway():
        pytest.skip("behind a gateway each worker traces what it gets, into a file of its own")
    folder = tmp_path_factory.mktemp("traced")
    file = folder / "trace.json"
    with running(SAMPLE_MODELS, folder / "log", f"--roundhouse.worker.trace.file={file}") as process:
        yield process, file


def test_should_log_what_the_client_asks_for(traced: tuple[WorkerProcess, Path]) -> None:
    worker, _ = traced
    with worker.client() as client:
        settings = client.get_log_settings(as_json=True)["settings"]
        assert settings["log_info"] == {"bool_param": True}
        assert settings["log_verbose_level"] == {"uint32_param": 0}
        assert settings["log_format"] == {"string_param": "default"}
        assert settings["log_file"] == {"string_param": ""}
        changed = client.update_log_settings(
            {"log_info": False, "log_warning": False, "log_verbose_level": 1, "log_format": "ISO8601"}, as_json=True
        )["settings"]
        assert changed["log_info"] == {"bool_param": False}
        assert changed["log_error"] == {"bool_param": True}
        assert changed["log_format"] == {"string_param": "ISO8601"}
        assert client.get_log_settings(as_json=True)["settings"] == changed
        restored = {"log_info": True, "log_warning": True, "log_verbose_level": 0, "log_format": "default"}
        assert client.update_log_settings(restored, as_json=True)["settings"] == settings


def test_should_refuse_log_settings_that_cannot_be(traced: tuple[WorkerProcess, Path]) -> None:
    worker, _ = traced
    with worker.client() as client:
        for settings, code, text in (
            ({"log_file": "x"}, "UNIMPLEMENTED", "log file location can not be updated through network protocol"),
            ({"log_format": "iso"}, "INVALID_ARGUMENT", "invalid argument for log_format, got: iso"),
            ({"log_error": None}, "INVALID_ARGUMENT", "expect boolean for 'log_error'"),
            ({"log_debug": True}, "INVALID_ARGUMENT", "unknown log setting 'log_debug'"),
        ):
            with pytest.raises(InferenceServerException) as failure:
                client.update_log_settings(settings)
            assert refused(failure, code, text), failure.value


def values(answer: dict) -> dict[str, list[str]]:
    return {name: setting["value"] for name, setting in answer["settings"].items()}


def test_should_trace_requests_of_the_model_that_is_asked_for(traced: tuple[WorkerProcess, Path]) -> None:
    worker, file = traced
    with worker.client() as client:
        initial = values(client.get_trace_settings(as_json=True))
        assert initial == {
            "trace_level": ["OFF"],
            "trace_rate": ["1000"],
            "trace_count": ["-1"],
            "log_frequency": ["0"],
            "trace_file": ["trace.json"],
            "trace_mode": ["triton"],
        }
        wanted = {"trace_level": ["TIMESTAMPS"], "trace_rate": "2", "trace_count": "3"}
        answer = values(client.update_trace_settings("simple", wanted, as_json=True))
        assert answer == initial | {"trace_level": ["TIMESTAMPS"], "trace_rate": ["2"], "trace_count": ["3"]}
        for number in range(1, 11):
            infer(client, "simple", simple_inputs(), request_id=f"r{number}")
        assert values(client.get_trace_settings("simple", as_json=True))["trace_count"] == ["0"]
        assert values(client.get_trace_settings(as_json=True)) == initial
        wait_until(lambda: elements(file) == 6, SECONDS, "three traces")

        written = json.loads(file.read_text())
        requests = {e["id"]: e for e in written if "model_name" in e}
        stages = {e["id"]: e["timestamps"] for e in written if "timestamps" in e}
        assert [r["request_id"] for r in requests.values()] == ["r2", "r4", "r6"]
        assert {(r["model_name"], r["model_version"]) for r in requests.values()} == {("simple", 1)}
        for timestamps in stages.values():
            assert [stage["name"] for stage in timestamps] == STAGES
            moments = [stage["ns"] for stage in timestamps]
            assert moments == sorted(moments)
        assert values(client.update_trace_settings("simple", TAKE_BACK, as_json=True)) == initial


def traced_array(tensor: dict) -> np.ndarray:
    """What Triton's own tool makes of a tensor in a trace (qa/common/trace_summary.py)."""
    shape = [int(extent) for extent in tensor["shape"].split(",")]
    values = [float(value) for value in tensor["data"].split(",")]
    return np.array(values, triton_to_np_dtype(tensor["dtype"])).reshape(shape)


def test_should_trace_tensors_and_say_what_is_left_out(tmp_path: Path, launch: Launch) -> None:
    file = tmp_path / "trace.json"
    settings = (f"--roundhouse.worker.trace.file={file}", "--roundhouse.worker.trace.level=timestamps,tensors")
    settings += ("--roundhouse.worker.trace.rate=1", "--roundhouse.worker.trace.max-tensor-bytes=200B")
    worker = launch(SAMPLE_MODELS, *settings).await_ready()
    inputs = simple_inputs()
    with worker.client() as client:
        assert values(client.get_trace_settings(as_json=True))["trace_level"] == ["TIMESTAMPS", "TENSORS"]
        answers = arrays(infer(client, "simple", inputs))
        infer(client, "simple", simple_inputs(rows=2))
    # Of each request itself and its stages, two inputs and two outputs.
    wait_until(lambda: elements(file) == 12, SECONDS, "two traces")
    traced = json.loads(file.read_text())
    whole, cut = ([e for e in traced if e["id"] == identity and "tensor" in e] for identity in (1, 2))
    names = {"TENSOR_QUEUE_INPUT": inputs, "TENSOR_BACKEND_OUTPUT": answers}
    for element in whole:
        tensor = element["tensor"]
        np.testing.assert_array_equal(traced_array(tensor), names[element["activity"]][tensor["name"]])
        assert "cut_bytes" not in tensor
    told = [(e["activity"], e["tensor"]["name"], e["tensor"].get("cut_bytes")) for e in cut]
    assert told == [
        ("TENSOR_QUEUE_INPUT", "INPUT0", None),
        ("TENSOR_QUEUE_INPUT", "INPUT1", 56),
        ("TENSOR_BACKEND_OUTPUT", "OUTPUT0", None),
        ("TENSOR_BACKEND_OUTPUT", "OUTPUT1", 56),
    ]


def elements(file: Path) -> int:
    """How many a file has when it is complete; none while it is being written."""
    try:
        return len(json.loads(file.read_text()))
    except (FileNotFoundError, json.JSONDecodeError):
        return 0


def test_should_begin_another_file_after_so_many_traces(traced: tuple[WorkerProcess, Path]) -> None:
    worker, file = traced
    with worker.client() as client:
        wanted = {"trace_level": ["TIMESTAMPS"], "trace_rate": "1", "log_frequency": "2"}
        client.update_trace_settings(settings=wanted)
        for _ in range(4):
            infer(client, "simple", simple_inputs())
        parts = [Path(f"{file}.{index}") for index in range(2)]
        wait_until(lambda: all(elements(part) == 4 for part in parts), SECONDS, "two files of two traces each")
        client.update_trace_settings(settings=TAKE_BACK)
        assert values(client.get_trace_settings(as_json=True))["trace_level"] == ["OFF"]


def test_should_refuse_trace_settings_that_cannot_be(
    traced: tuple[WorkerProcess, Path], client: triton.InferenceServerClient
) -> None:
    worker, _ = traced
    with worker.client() as tracing:
        for caller, model, settings, code, text in (
            (tracing, "ghost", {}, "INVALID_ARGUMENT", "Request for unknown model : ghost"),
            (tracing, "", {"trace_file": "x"}, "UNIMPLEMENTED", "trace file location can not be updated"),
            (tracing, "", {"trace_level": ["ALL"]}, "INVALID_ARGUMENT", "there are OFF, TIMESTAMPS and TENSORS"),
            (tracing, "", {"trace_mode": "opentelemetry"}, "INVALID_ARGUMENT", "needs a collector"),
            (tracing, "", {"trace_rate": "x"}, "INVALID_ARGUMENT", "Unable to parse 'trace_rate', got: x"),
            (client, "", {"trace_level": ["TIMESTAMPS"]}, "INVALID_ARGUMENT", "trace file name is not given"),
        ):
            with pytest.raises(InferenceServerException) as failure:
                caller.update_trace_settings(model, settings)
            assert refused(failure, code, text), failure.value


# --- The same over HTTP, whose client answers with the JSON as it came


@pytest.fixture
def http(traced: tuple[WorkerProcess, Path]) -> Iterator[triton_http.InferenceServerClient]:
    worker, _ = traced
    with triton_http.InferenceServerClient(f"127.0.0.1:{worker.ports.http}") as connected:
        yield connected


def over_http(values: dict) -> dict:
    """Settings as gRPC says them, in the form of HTTP."""
    return {name: next(iter(value.values())) for name, value in values["settings"].items()}


@pytest.mark.parametrize("name", samples.NAMES)
def test_should_tell_over_http_what_grpc_tells_of_a_model(
    http: triton_http.InferenceServerClient, client: triton.InferenceServerClient, name: str
) -> None:
    config = http.get_model_config(name)
    assert (config["name"], config["backend"]) == (name, "xla")
    told = client.get_model_config(name).config
    assert config["max_batch_size"] == told.max_batch_size
    for stated, expected in ((config["input"], told.input), (config["output"], told.output)):
        assert [(t["name"], model_config_pb2.DataType.Value(t["data_type"]), t["dims"]) for t in stated] == [
            (t.name, t.data_type, list(t.dims)) for t in expected
        ]


def test_should_count_over_http_what_has_been_answered(
    http: triton_http.InferenceServerClient, traced: tuple[WorkerProcess, Path]
) -> None:
    before = http.get_inference_statistics("simple")["model_stats"][0]
    with traced[0].client() as client:
        infer(client, "simple", simple_inputs(rows=3))
    after = http.get_inference_statistics("simple", "1")["model_stats"][0]
    assert (after["inference_count"] - before["inference_count"]) == 3
    assert (after["execution_count"] - before["execution_count"]) == 1
    assert [stats["name"] for stats in http.get_inference_statistics()["model_stats"]] == sorted(samples.NAMES)


def test_should_change_settings_over_http(
    http: triton_http.InferenceServerClient, traced: tuple[WorkerProcess, Path]
) -> None:
    with traced[0].client() as client:
        log, trace = http.get_log_settings(), http.get_trace_settings()
        assert log == over_http(client.get_log_settings(as_json=True))
        changed = http.update_log_settings({"log_info": False, "log_verbose_level": 1})
        assert changed == log | {"log_info": False, "log_verbose_level": 1}
        assert http.update_log_settings({"log_info": True, "log_verbose_level": 0}) == log

        traced_now = http.update_trace_settings("simple", {"trace_level": ["TIMESTAMPS"], "trace_rate": "7"})
        assert traced_now == trace | {"trace_level": ["TIMESTAMPS"], "trace_rate": "7"}
        assert values(client.get_trace_settings("simple", as_json=True))["trace_rate"] == ["7"]
        assert http.update_trace_settings("simple", TAKE_BACK) == trace


def test_should_refuse_over_http_what_grpc_refuses(http: triton_http.InferenceServerClient) -> None:
    for call, status, text in (
        (lambda: http.get_model_config("ghost"), "404", "Request for unknown model: 'ghost' is not found"),
        (lambda: http.get_inference_statistics("ghost"), "400", "requested model 'ghost' is not available"),
        (lambda: http.update_log_settings({"log_debug": True}), "400", "unknown log setting 'log_debug'"),
        (lambda: http.update_trace_settings("", {"trace_file": "x"}), "501", "trace file location can not be updated"),
    ):
        with pytest.raises(InferenceServerException) as failure:
            call()
        assert (failure.value.status(), text in failure.value.message()) == (status, True), failure.value


# --- IsSameIPCNamespace, which the stock client does not have


def test_should_see_shared_memory_that_the_client_made(channel: grpc.Channel) -> None:
    call = channel.unary_unary(
        "/inference.GRPCInferenceService/IsSameIPCNamespace",
        request_serializer=lambda name: bytes([0x0A, len(name)]) + name.encode(),  # field 1, a string
        response_deserializer=lambda message: message == b"\x08\x01",  # field 1 is true
    )
    name = f"roundhouse-{os.getpid()}-{uuid.uuid4().hex}"
    assert call("/" + name) is False
    memory = shared_memory.SharedMemory(name, create=True, size=64)
    try:
        assert call("/" + name) is True
    finally:
        memory.close()
        memory.unlink()
