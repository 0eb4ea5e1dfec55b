"""What a ModelInfer request may say: contents, outputs, ids, versions, deadlines."""

import grpc
import numpy as np
import pytest
import tritonclient.grpc as triton
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub
from tritonclient.utils import InferenceServerException

from calls import arrays, infer, request, simple_inputs, typed_request

TYPED_FIELDS = {
    "f64": "fp64_contents",
    "f32": "fp32_contents",
    "i64": "int64_contents",
    "i32": "int_contents",
    "i16": "int_contents",
    "i8": "int_contents",
    "u64": "uint64_contents",
    "u32": "uint_contents",
    "u16": "uint_contents",
    "u8": "uint_contents",
    "bool": "bool_contents",
}


def test_should_add_and_subtract_when_contents_are_raw(client: triton.InferenceServerClient) -> None:
    answers = arrays(infer(client, "simple", simple_inputs()))
    np.testing.assert_array_equal(answers["OUTPUT0"], np.arange(16)[None] + 3)
    np.testing.assert_array_equal(answers["OUTPUT1"], np.arange(16)[None] - 3)


def test_should_answer_in_raw_form_when_contents_are_typed(stub: GRPCInferenceServiceStub) -> None:
    response = stub.ModelInfer(typed_request("simple", "int_contents", simple_inputs()))
    assert [output.name for output in response.outputs] == ["OUTPUT0", "OUTPUT1"]
    sums = np.frombuffer(response.raw_output_contents[0], np.int32)
    np.testing.assert_array_equal(sums, np.arange(16) + 3)


def test_should_take_every_typed_field_when_one_input_uses_it(stub: GRPCInferenceServiceStub) -> None:
    dtypes = {"f64": np.float64, "f32": np.float32, "i64": np.int64, "i32": np.int32, "i16": np.int16, "i8": np.int8}
    dtypes |= {"u64": np.uint64, "u32": np.uint32, "u16": np.uint16, "u8": np.uint8, "bool": np.bool_}
    assert dtypes.keys() == TYPED_FIELDS.keys()
    # FP16 and BF16 have no typed field, so 'dtypes' cannot be asked whole: a field that was understood leads on to the
    # complaint about the inputs that are missing, one that was not is itself complained about.
    for token, field in TYPED_FIELDS.items():
        message = typed_request("dtypes", field, {token: np.ones((1, 3), dtypes[token])})
        with pytest.raises(grpc.RpcError) as failure:
            stub.ModelInfer(message)
        assert "expected 13 inputs but got 1 inputs for model 'dtypes'" in failure.value.details(), token


def test_should_return_the_requested_outputs_in_the_models_order_when_some_are_named(
    client: triton.InferenceServerClient,
) -> None:
    assert list(arrays(infer(client, "simple", simple_inputs(), ["OUTPUT1"]))) == ["OUTPUT1"]
    both = arrays(infer(client, "simple", simple_inputs(), ["OUTPUT1", "OUTPUT0"]))
    assert list(both) == ["OUTPUT0", "OUTPUT1"]
    np.testing.assert_array_equal(both["OUTPUT1"], np.arange(16)[None] - 3)
    np.testing.assert_array_equal(both["OUTPUT0"], np.arange(16)[None] + 3)


@pytest.mark.parametrize("compression", ["gzip", "deflate"])
def test_should_answer_when_messages_are_compressed(client: triton.InferenceServerClient, compression: str) -> None:
    answer = arrays(infer(client, "simple", simple_inputs(8), compression_algorithm=compression))
    np.testing.assert_array_equal(answer["OUTPUT0"], np.arange(8 * 16).reshape(8, 16) + 3)


def test_should_echo_id_model_and_version_when_answering(client: triton.InferenceServerClient) -> None:
    response = infer(client, "simple", simple_inputs(), request_id="engine-7").get_response()
    assert (response.id, response.model_name, response.model_version) == ("engine-7", "simple", "1")


def test_should_answer_when_the_version_is_named(client: triton.InferenceServerClient) -> None:
    assert infer(client, "simple", simple_inputs(), model_version="1").get_response().model_version == "1"


def test_should_answer_every_row_when_batch_is_as_large_as_compiled(client: triton.InferenceServerClient) -> None:
    answers = arrays(infer(client, "simple", simple_inputs(rows=8)))
    np.testing.assert_array_equal(answers["OUTPUT0"], np.arange(128).reshape(8, 16) + 3)


def test_should_expire_when_the_budget_is_one_nanosecond(client: triton.InferenceServerClient) -> None:
    with pytest.raises(InferenceServerException) as failure:
        infer(client, "simple", simple_inputs(), parameters={"reactant_timeout_ns": 1})
    assert failure.value.status() == "StatusCode.DEADLINE_EXCEEDED"


@pytest.mark.parametrize("budget", [0, -5, 30_000_000_000, 2**63 - 1])
def test_should_answer_when_the_budget_is_absent_or_ample(client: triton.InferenceServerClient, budget: int) -> None:
    answers = arrays(infer(client, "simple", simple_inputs(), parameters={"reactant_timeout_ns": budget}))
    np.testing.assert_array_equal(answers["OUTPUT0"], np.arange(16)[None] + 3)


def test_should_expire_and_go_on_serving_when_the_grpc_deadline_passes(stub: GRPCInferenceServiceStub) -> None:
    stub.ServerLive(triton.service_pb2.ServerLiveRequest())  # the connection is not part of the deadline
    message = request("digits", {"pixels": np.zeros((64, 8, 8, 1), np.float32)})
    with pytest.raises(grpc.RpcError) as failure:
        stub.ModelInfer(message, timeout=1e-6)
    assert failure.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    response = stub.ModelInfer(message, timeout=10)
    assert list(response.outputs[0].shape) == [64, 10]
