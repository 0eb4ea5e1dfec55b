"""Tensor streams of a real worker, by the client that users are given, beside gRPC."""

import re
import shutil
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import grpc
import numpy as np
import pytest
from tritonclient.grpc.model_config_pb2 import DataType
from tritonclient.grpc.service_pb2 import ModelInferRequest
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

import summing_bundle
from worker_process import ROOT, SAMPLE_MODELS, WorkerProcess

sys.path.insert(0, str(ROOT / "kserve-client" / "python"))
from tstream import MessageError, Stream, StreamError

STREAMS = [
    ("simple", {"rows": 3}),
    ("simple", {"rows": 1, "checksums": True}),
    ("affine", {"rows": 2}),
    ("bfloat", {}),
    ("digits", {}),
    ("dtypes", {"rows": 1}),
    ("empty", {"rows": 3}),
    ("scalar", {}),
]


def start(folder: Path) -> WorkerProcess:
    models = folder / "models"
    models.mkdir()
    for each in SAMPLE_MODELS.iterdir():
        if each.is_dir():
            (models / each.name).symlink_to(each)
    summing_bundle.write(models, "sums")
    settings = ("port=0", "address=127.0.0.1", f"socket={folder / 'socket'}")
    worker = WorkerProcess.launch(models, folder / "log", *(f"--roundhouse.worker.stream.{each}" for each in settings))
    try:
        return worker.await_ready()
    except BaseException:
        worker.close()
        raise


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tstream")


@pytest.fixture(scope="module")
def worker(folder: Path) -> Iterator[WorkerProcess]:
    started = start(folder)
    try:
        yield started
    finally:
        started.close()


def tcp(worker: WorkerProcess) -> str:
    return f"127.0.0.1:{re.search('stream=([0-9]+)', worker.ready_line() or '')[1]}"


def message(stream: Stream, random: np.random.Generator) -> dict[str, np.ndarray]:
    """Whatever bits, but for booleans, of which there are two."""
    values = {}
    for tensor in stream.inputs:
        if tensor.dtype == np.bool_:
            values[tensor.name] = random.integers(0, 2, tensor.shape).astype(np.bool_)
        else:
            values[tensor.name] = random.integers(-9, 9, tensor.shape).astype(tensor.dtype)
    return values


def by_grpc(stub: GRPCInferenceServiceStub, model: str, stream: Stream, values: dict[str, np.ndarray]) -> list[bytes]:
    request = ModelInferRequest(model_name=model)
    for tensor in stream.inputs:
        request.inputs.add(
            name=tensor.name, datatype=DataType.Name(tensor.code).removeprefix("TYPE_"), shape=tensor.shape
        )
        request.raw_input_contents.append(values[tensor.name].tobytes())
    return list(stub.ModelInfer(request).raw_output_contents)


@pytest.mark.parametrize("local", [False, True], ids=["tcp", "unix"])
@pytest.mark.parametrize(("model", "options"), STREAMS, ids=lambda value: str(value))
def test_should_answer_with_the_bits_of_grpc(
    worker: WorkerProcess, folder: Path, model: str, options: dict[str, object], local: bool
) -> None:
    random = np.random.default_rng(7)
    address = str(folder / "socket") if local else tcp(worker)
    with Stream(address, model, window=1, **options) as stream, grpc.insecure_channel(worker.address) as channel:
        stub = GRPCInferenceServiceStub(channel)
        messages = [message(stream, random) for _ in range(50)]
        expected = [by_grpc(stub, model, stream, each) for each in messages]
        for result in stream.map(messages):
            assert [result[each.name].tobytes() for each in stream.outputs] == expected[result.sequence]
    # several share a run, whose program for more rows may round otherwise
    with Stream(address, model, window=16, **options) as stream:
        seen = set()
        for result in stream.map(messages):
            seen.add(result.sequence)
            for each, bits in zip(stream.outputs, expected[result.sequence], strict=True):
                alone = np.frombuffer(bits, each.dtype).reshape(each.shape)
                if each.dtype.kind == "f":
                    np.testing.assert_allclose(result[each.name], alone, rtol=1e-2, atol=1e-5)
                else:
                    np.testing.assert_array_equal(result[each.name], alone)
        assert seen == set(range(50))


def test_should_serve_the_client_in_c(worker: WorkerProcess, folder: Path, tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    assert compiler, "the worker's build needs a C compiler, and this test the same"
    program = tmp_path / "example"
    source = ROOT / "kserve-client" / "c" / "example.c"
    strict = ["-std=gnu99", "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function"]
    subprocess.run([compiler, *strict, "-o", str(program), str(source)], check=True)
    x = np.ones((1000, 3), np.float32) * (1, 2, 0)
    x[:, 2] = np.arange(1000)
    with Stream(tcp(worker), "scalar") as stream:
        expected = sum(float(result["score"]) for result in stream.map(row.astype(np.float32) for row in x))
    for address in (tcp(worker), str(folder / "socket")):
        done = subprocess.run([program, address, "1000", "64"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        assert float(done.stdout) == pytest.approx(expected, rel=1e-6)
    refused = subprocess.run([program, "127.0.0.1:1", "1", "1"], capture_output=True, text=True, timeout=60)
    assert refused.returncode == 1
    assert "Connection refused" in refused.stderr


def test_should_say_which_variants_there_are(worker: WorkerProcess) -> None:
    with pytest.raises(StreamError, match="has several variants; name one of '") as refused:
        Stream(tcp(worker), "variants")
    variant = re.search("name one of '([^']+)'", str(refused.value))[1]
    with Stream(tcp(worker), "variants", variant=variant) as stream:
        assert len(list(stream.map([message(stream, np.random.default_rng(1))] * 3))) == 3


def test_should_refuse_what_cannot_be_streamed_to(worker: WorkerProcess) -> None:
    for model, status, text in (
        ("sums", "NOT_FIXED", "keeps state between the requests of a sequence"),
        ("nothing", "NO_SUCH_MODEL", "nothing"),
    ):
        with pytest.raises(StreamError, match=text) as refused:
            Stream(tcp(worker), model)
        assert refused.value.status == status
    with pytest.raises(StreamError, match="'x' is float32"):
        Stream(tcp(worker), "scalar", expect={"x": (np.float64, (3,))})
    with Stream(tcp(worker), "scalar") as stream, pytest.raises(ValueError, match="float64"):
        stream.infer(np.ones(3))


def test_should_end_messages_whose_deadline_is_over_alone(worker: WorkerProcess) -> None:
    with Stream(tcp(worker), "scalar", deadlines=True, in_order=True) as stream:
        x = np.ones(3, np.float32)
        stream.send(x, deadline=0)
        stream.send(x, deadline=60)
        stream.send(x)
        with pytest.raises(MessageError, match="DEADLINE_EXCEEDED"):
            stream.result()["score"]
        assert stream.result()["score"] == stream.result()["score"]


def test_should_refuse_tls_at_a_socket_in_the_file_system(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"tls is given, and '.*/socket' is a socket in the file system"):
        Stream(str(tmp_path / "socket"), "scalar", tls=ssl.create_default_context())


def test_should_not_believe_that_a_message_was_the_last_which_was_never_sent() -> None:
    stream = Stream.__new__(Stream)  # without a server
    stream._sent, stream._under_way = 3, 2
    with pytest.raises(StreamError, match=r"MALFORMED: .*message 7 is said to be the last"):
        stream._end(7, "the server takes no more messages")
    stream._end(1, "the server takes no more messages")
    assert stream._under_way == 1


def test_should_stream_by_tls_and_tell_who_does_not(tmp_path: Path) -> None:
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    request = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    request += ["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run(
        [*request, "-keyout", str(key), "-out", str(certificate)],
        check=True,
        capture_output=True,
    )
    worker = WorkerProcess.launch(
        SAMPLE_MODELS,
        tmp_path / "log",
        "--roundhouse.worker.stream.port=0",
        "--roundhouse.worker.stream.address=127.0.0.1",
        "--roundhouse.worker.stream.ssl.bundle=public",
        f"--spring.ssl.bundle.pem.public.keystore.certificate={certificate}",
        f"--spring.ssl.bundle.pem.public.keystore.private-key={key}",
    )
    try:
        worker.await_ready()
        address = tcp(worker).replace("127.0.0.1", "localhost")
        with Stream(address, "scalar", tls=ssl.create_default_context(cafile=str(certificate))) as stream:
            ones = [np.full(3, i, np.float32) for i in range(1000)]
            assert sorted(result.sequence for result in stream.map(ones)) == list(range(1000))
        with pytest.raises(ssl.SSLCertVerificationError):
            Stream(address, "scalar", tls=ssl.create_default_context())
        with pytest.raises(StreamError, match="BAD_HELLO: this port takes TLS only"):
            Stream(address, "scalar")
    finally:
        worker.close()


def test_should_lose_nothing_that_it_took_when_it_is_told_to_end(tmp_path: Path) -> None:
    worker = start(tmp_path)
    try:
        with Stream(tcp(worker), "scalar", window=32) as stream:
            x = np.ones(3, np.float32)
            answered = 0
            with pytest.raises(StreamError, match="takes no more messages"):
                for result in stream.map(x for _ in range(10_000_000)):
                    assert result.error is None
                    answered += 1
                    if answered == 1000:
                        worker.process.send_signal(signal.SIGTERM)
            assert answered >= 1000
        assert worker.process.wait(60) == 143
    finally:
        worker.close()
