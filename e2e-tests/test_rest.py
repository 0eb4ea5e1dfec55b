"""The protocol over HTTP: the stock client, and requests as curl would send them."""

import gzip
import json
import urllib.error
import urllib.request
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import tritonclient.http as triton
from roundhouse_export import samples
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

from calls import simple_inputs
from conftest import Launch
from test_health_and_metadata import wire_name, wire_shape
from worker_process import SAMPLE_MODELS, WorkerProcess


@pytest.fixture
def http(worker: WorkerProcess) -> Iterator[triton.InferenceServerClient]:
    with triton.InferenceServerClient(f"127.0.0.1:{worker.ports.http}", concurrency=4) as connected:
        yield connected


def inputs_of(arrays: Mapping[str, np.ndarray], binary: bool) -> list[triton.InferInput]:
    tensors = []
    for name, array in arrays.items():
        tensor = triton.InferInput(name, list(array.shape), np_to_triton_dtype(array.dtype))
        tensors.append(tensor.set_data_from_numpy(array, binary_data=binary))
    return tensors


def post(worker: WorkerProcess, path: str, body: bytes, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Status, headers (lower case) and body of a POST on loopback."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(f"http://127.0.0.1:{worker.ports.http}{path}", body, named, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, {k.lower(): v for k, v in response.headers.items()}, response.read()
    except urllib.error.HTTPError as error:
        return error.code, {k.lower(): v for k, v in error.headers.items()}, error.read()


def json_request(arrays: Mapping[str, np.ndarray], **more: object) -> bytes:
    inputs = [
        {"name": name, "shape": array.shape, "datatype": np_to_triton_dtype(array.dtype), "data": array.tolist()}
        for name, array in arrays.items()
    ]
    return json.dumps({"inputs": inputs, **more}).encode()


def test_should_be_live_and_ready(http: triton.InferenceServerClient) -> None:
    assert http.is_server_live()
    assert http.is_server_ready()
    assert http.is_model_ready("simple")
    assert http.is_model_ready("simple", "1")
    assert not http.is_model_ready("ghost")


def test_should_describe_the_server(http: triton.InferenceServerClient) -> None:
    metadata = http.get_server_metadata()
    assert metadata["name"]
    assert metadata["version"]
    assert "binary_tensor_data" in metadata["extensions"]


@pytest.mark.parametrize("name", samples.NAMES)
def test_should_state_the_contract(http: triton.InferenceServerClient, name: str) -> None:
    contract = samples.get(name).contract
    metadata = http.get_model_metadata(name)
    assert (metadata["name"], metadata["versions"]) == (name, ["1"])
    for stated, expected in ((metadata["inputs"], contract.inputs), (metadata["outputs"], contract.outputs)):
        assert stated == [{"name": t.name, "datatype": wire_name(t.dtype), "shape": wire_shape(t)} for t in expected]


@pytest.mark.parametrize("sent", [True, False], ids=["binary-in", "json-in"])
@pytest.mark.parametrize("answered", [True, False], ids=["binary-out", "json-out"])
@pytest.mark.parametrize("compression", [None, "gzip", "deflate"])
def test_should_infer_in_every_form(
    http: triton.InferenceServerClient, sent: bool, answered: bool, compression: str | None
) -> None:
    arrays = simple_inputs(rows=3)
    result = http.infer(
        "simple",
        inputs_of(arrays, sent),
        outputs=[triton.InferRequestedOutput(n, binary_data=answered) for n in ("OUTPUT1", "OUTPUT0")],
        request_id="q",
        request_compression_algorithm=compression,
        response_compression_algorithm=compression,
    )
    assert result.get_response()["id"] == "q"
    assert [output["name"] for output in result.get_response()["outputs"]] == ["OUTPUT0", "OUTPUT1"]
    np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), arrays["INPUT0"] + arrays["INPUT1"])
    np.testing.assert_array_equal(result.as_numpy("OUTPUT1"), arrays["INPUT0"] - arrays["INPUT1"])


def test_should_answer_binary_when_no_output_is_named(http: triton.InferenceServerClient) -> None:
    arrays = simple_inputs()
    result = http.infer("simple", inputs_of(arrays, True))
    assert all("binary_data_size" in output["parameters"] for output in result.get_response()["outputs"])
    np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), arrays["INPUT0"] + arrays["INPUT1"])


def test_should_infer_asynchronously(http: triton.InferenceServerClient) -> None:
    asked = [simple_inputs(start=i) for i in range(20)]
    waiting = [http.async_infer("simple", inputs_of(arrays, i % 2 == 0)) for i, arrays in enumerate(asked)]
    for arrays, call in zip(asked, waiting, strict=True):
        np.testing.assert_array_equal(call.get_result().as_numpy("OUTPUT0"), arrays["INPUT0"] + arrays["INPUT1"])


def test_should_carry_every_datatype_alike_in_json_and_binary(worker: WorkerProcess) -> None:
    """Whatever the model makes of them: both forms must come to the same answer."""
    random = np.random.default_rng(7)
    with triton.InferenceServerClient(f"127.0.0.1:{worker.ports.http}") as http:
        metadata = http.get_model_metadata("dtypes")
        binary, mixed = [], []
        for stated in metadata["inputs"]:
            shape = [2 if extent < 0 else extent for extent in stated["shape"]]
            array = example(stated["datatype"], shape, random)
            for tensors, as_binary in ((binary, True), (mixed, has_no_json(stated))):
                tensor = triton.InferInput(stated["name"], shape, stated["datatype"])
                tensors.append(tensor.set_data_from_numpy(array, binary_data=as_binary))
        outputs = [
            triton.InferRequestedOutput(stated["name"], binary_data=has_no_json(stated))
            for stated in metadata["outputs"]
        ]
        expected = http.infer("dtypes", binary)
        answered = http.infer("dtypes", mixed, outputs=outputs)
        assert sum("data" in output for output in answered.get_response()["outputs"]) > 5
        for stated in metadata["outputs"]:
            np.testing.assert_array_equal(expected.as_numpy(stated["name"]), answered.as_numpy(stated["name"]))


def has_no_json(tensor: Mapping[str, object]) -> bool:
    return tensor["datatype"] in ("FP16", "BF16")


def example(datatype: str, shape: list[int], random: np.random.Generator) -> np.ndarray:
    if datatype == "BOOL":
        return random.integers(0, 2, shape).astype(np.bool_)
    if datatype == "BF16":
        return random.standard_normal(shape).astype(ml_dtypes.bfloat16)
    if datatype.startswith("FP"):
        return random.standard_normal(shape).astype(f"float{datatype[2:]}")
    kind = np.dtype(datatype.lower())
    info = np.iinfo(kind)
    return random.integers(info.min, info.max, shape, dtype=kind, endpoint=True)


def test_should_refuse_half_precision_as_json(worker: WorkerProcess) -> None:
    metadata = json.loads(worker.get(worker.ports.http, "/v2/models/dtypes")[1])
    for tensor in metadata["inputs"]:
        if has_no_json(tensor):
            shape = [1 if extent < 0 else extent for extent in tensor["shape"]]
            count = int(np.prod(shape))
            request = {"inputs": [{**tensor, "shape": shape, "data": [0] * count}]}
            status, _, body = post(worker, "/v2/models/dtypes/infer", json.dumps(request).encode())
            assert status == 400
            assert f"is {tensor['datatype']}, which JSON has no form for" in json.loads(body)["error"]


def test_should_raise_with_code_and_text(http: triton.InferenceServerClient) -> None:
    with pytest.raises(InferenceServerException) as failure:
        http.infer("ghost", inputs_of(simple_inputs(), True))
    assert failure.value.status() == "404"
    assert "Request for unknown model: 'ghost' is not found" in failure.value.message()
    with pytest.raises(InferenceServerException) as failure:
        http.infer("simple", inputs_of({"INPUT0": np.zeros((1, 16), np.int32)}, False))
    assert failure.value.status() == "400"
    assert "missing required input(s) ['INPUT1']" in failure.value.message()


def test_should_answer_json_that_curl_sends(worker: WorkerProcess) -> None:
    arrays = simple_inputs()
    status, headers, body = post(worker, "/v2/models/simple/infer", json_request(arrays))
    assert (status, headers["content-type"]) == (200, "application/json")
    outputs = {output["name"]: output["data"] for output in json.loads(body)["outputs"]}
    assert outputs["OUTPUT0"] == (arrays["INPUT0"] + arrays["INPUT1"]).ravel().tolist()


@pytest.mark.parametrize(
    ("coding", "inflate"), [("gzip", gzip.decompress), ("deflate", zlib.decompress)], ids=["gzip", "deflate"]
)
def test_should_compress_what_is_worth_it(worker: WorkerProcess, coding: str, inflate: object) -> None:
    arrays = simple_inputs(rows=4)
    deflated = gzip.compress(json_request(arrays)) if coding == "gzip" else zlib.compress(json_request(arrays))
    headers = {"Content_Encoding": coding, "Accept_Encoding": f"identity;q=0, {coding}"}
    status, answered, body = post(worker, "/v2/models/simple/infer", deflated, **headers)
    assert (status, answered["content-encoding"]) == (200, coding)
    assert json.loads(inflate(body))["model_name"] == "simple"


def test_should_refuse_other_encodings(worker: WorkerProcess) -> None:
    status, headers, body = post(worker, "/v2/models/simple/infer", b"x", Content_Encoding="zstd")
    assert (status, headers["accept-encoding"]) == (501, "gzip, deflate")
    assert "zstd" in json.loads(body)["error"]


def test_should_describe_its_routes(worker: WorkerProcess) -> None:
    status, body = worker.get(worker.ports.http, "/v2/openapi.json")
    assert status == 200
    assert "/v2/models/{name}/infer" in json.loads(body)["paths"]


def test_should_say_in_json_what_is_not_there(worker: WorkerProcess) -> None:
    assert worker.get(worker.ports.http, "/nothing") == (404, '{"error":"Not Found"}')
    assert worker.get(worker.ports.http, "/v2/models/simple/infer") == (405, '{"error":"Method Not Allowed"}')


def test_should_list_what_serves(worker: WorkerProcess, http: triton.InferenceServerClient) -> None:
    assert json.loads(worker.get(worker.ports.http, "/v2/models")[1])["models"] == sorted(samples.NAMES)
    index = {line["name"]: line["state"] for line in http.get_model_repository_index()}
    assert index == dict.fromkeys(samples.NAMES, "READY")


def test_should_load_and_unload_when_callers_control_models(launch: Launch, tmp_path: Path) -> None:
    worker = launch(SAMPLE_MODELS, "--roundhouse.worker.repository.mode=explicit").await_ready()
    with triton.InferenceServerClient(f"127.0.0.1:{worker.ports.http}", network_timeout=120) as http:
        assert not http.is_model_ready("simple")
        http.load_model("simple")
        assert http.is_model_ready("simple")
        http.unload_model("simple")
        assert not http.is_model_ready("simple")
        with pytest.raises(InferenceServerException) as failure:
            http.load_model("ghost")
        assert failure.value.status() == "500"
        assert "failed to load 'ghost', failed to poll from model repository" in failure.value.message()
        with pytest.raises(InferenceServerException) as failure:
            http.load_model("simple", config="{}")
        assert failure.value.status() == "501"
