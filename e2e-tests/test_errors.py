"""The texts and codes that stock clients and their tests match."""

from collections.abc import Callable

import grpc
import numpy as np
import pytest
from tritonclient.grpc.service_pb2 import ModelInferRequest
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

from calls import request, simple_inputs, typed_request

Bend = Callable[[ModelInferRequest], None]


def simple(bend: Bend) -> ModelInferRequest:
    message = request("simple", simple_inputs())
    bend(message)
    return message


def unknown_model(m: ModelInferRequest) -> None:
    m.model_name = "ghost"


def no_model(m: ModelInferRequest) -> None:
    m.model_name = ""


def missing_version(m: ModelInferRequest) -> None:
    m.model_version = "7"


def bad_version(m: ModelInferRequest) -> None:
    m.model_version = "latest"


def missing_input(m: ModelInferRequest) -> None:
    del m.inputs[1], m.raw_input_contents[1]


def too_many_inputs(m: ModelInferRequest) -> None:
    m.inputs.add(name="INPUT2", datatype="INT32", shape=[1, 16])
    m.raw_input_contents.append(bytes(64))


def unexpected_input(m: ModelInferRequest) -> None:
    m.inputs[1].name = "INPUT9"


def unexpected_output(m: ModelInferRequest) -> None:
    m.outputs.add(name="OUTPUT9")


def duplicate_input(m: ModelInferRequest) -> None:
    m.inputs[1].name = "INPUT0"


def duplicate_output(m: ModelInferRequest) -> None:
    m.outputs.add(name="OUTPUT0")
    m.outputs.add(name="OUTPUT0")


def wrong_dtype(m: ModelInferRequest) -> None:
    m.inputs[0].datatype = "FP32"


def unknown_dtype(m: ModelInferRequest) -> None:
    m.inputs[0].datatype = "FLOAT"


def wrong_shape(m: ModelInferRequest) -> None:
    m.inputs[0].shape[:] = [1, 15]
    m.raw_input_contents[0] = bytes(60)


def wrong_rank(m: ModelInferRequest) -> None:
    m.inputs[0].shape[:] = [1, 4, 4]


def unequal_batch(m: ModelInferRequest) -> None:
    m.inputs[0].shape[:] = [2, 16]
    m.raw_input_contents[0] = bytes(128)


def no_batch(m: ModelInferRequest) -> None:
    m.inputs[0].shape[:] = []
    m.raw_input_contents[0] = bytes(4)


def too_few_bytes(m: ModelInferRequest) -> None:
    m.raw_input_contents[0] = bytes(60)


def negative_extent(m: ModelInferRequest) -> None:
    m.inputs[0].shape[:] = [-1, 16]


def overflowing_shape(m: ModelInferRequest) -> None:
    m.inputs[0].shape[:] = [2**62, 16]


def raw_and_typed(m: ModelInferRequest) -> None:
    m.inputs[0].contents.int_contents.extend(range(16))


def no_data(m: ModelInferRequest) -> None:
    del m.raw_input_contents[:]


def wrong_typed_field(m: ModelInferRequest) -> None:
    del m.raw_input_contents[:]
    m.inputs[0].contents.fp32_contents.extend([0.0] * 16)
    m.inputs[1].contents.int_contents.extend([0] * 16)


def reserved_parameter(m: ModelInferRequest) -> None:
    m.parameters["triton_secret"].bool_param = True


def wrong_parameter_type(m: ModelInferRequest) -> None:
    m.parameters["reactant_timeout_ns"].string_param = "soon"


def shared_memory(m: ModelInferRequest) -> None:
    m.inputs[0].parameters["shared_memory_region"].string_param = "region"
    m.inputs[0].parameters["shared_memory_byte_size"].int64_param = 64


NOT_FOUND = grpc.StatusCode.NOT_FOUND
INVALID = grpc.StatusCode.INVALID_ARGUMENT
UNIMPLEMENTED = grpc.StatusCode.UNIMPLEMENTED

CASES: list[tuple[Bend, grpc.StatusCode, list[str]]] = [
    (unknown_model, NOT_FOUND, ["Request for unknown model: 'ghost' is not found"]),
    (no_model, INVALID, ["Model name cannot be empty"]),
    (missing_version, NOT_FOUND, ["'simple' version 7 is not found"]),
    (bad_version, INVALID, ["failed to get model version from specified version string"]),
    (missing_input, INVALID, ["expected 2 inputs but got 1 inputs for model 'simple'", "missing required", "INPUT1"]),
    (too_many_inputs, INVALID, ["expected 2 inputs but got 3 inputs for model 'simple'"]),
    (unexpected_input, INVALID, ["unexpected inference input 'INPUT9' for model 'simple'"]),
    (unexpected_output, INVALID, ["unexpected inference output 'OUTPUT9'"]),
    (duplicate_input, INVALID, ["'INPUT0'", "already exists in request"]),
    (duplicate_output, INVALID, ["'OUTPUT0'", "already exists in request"]),
    (
        wrong_dtype,
        INVALID,
        ["inference input 'INPUT0' data-type is 'FP32', but model 'simple' expects 'INT32'"],
    ),
    (unknown_dtype, INVALID, ["'FLOAT'", "INPUT0"]),
    (wrong_shape, INVALID, ["unexpected shape for input 'INPUT0' for model 'simple'", "[-1,16]", "[1,15]"]),
    (wrong_rank, INVALID, ["unexpected shape for input 'INPUT0' for model 'simple'", "[-1,16]", "[1,4,4]"]),
    (unequal_batch, INVALID, ["batch size does not match other inputs"]),
    (no_batch, INVALID, ["has no shape but model requires batch dimension"]),
    (too_few_bytes, INVALID, ["input byte size mismatch for input 'INPUT0' for model 'simple'", "64", "60"]),
    (negative_extent, INVALID, ["INPUT0"]),
    (overflowing_shape, INVALID, ["INPUT0"]),
    (
        raw_and_typed,
        INVALID,
        ["contents field must not be specified when using raw_input_contents for 'INPUT0' for model 'simple'"],
    ),
    (no_data, INVALID, ["unable to find data for input tensor 'INPUT0' for model 'simple' in request"]),
    (wrong_typed_field, INVALID, ["unexpected explicit tensor data for input tensor", "INPUT0"]),
    (reserved_parameter, INVALID, ["reserved for Triton usage", "triton_secret"]),
    (wrong_parameter_type, INVALID, ["invalid value type for 'reactant_timeout_ns' parameter, expected"]),
    (shared_memory, UNIMPLEMENTED, ["Client shared memory is disabled"]),
]


@pytest.mark.parametrize(("bend", "code", "fragments"), CASES, ids=[case[0].__name__ for case in CASES])
def test_should_refuse_with_the_known_text_when_the_request_is_wrong(
    stub: GRPCInferenceServiceStub, bend: Bend, code: grpc.StatusCode, fragments: list[str]
) -> None:
    with pytest.raises(grpc.RpcError) as failure:
        stub.ModelInfer(simple(bend))
    assert failure.value.code() == code, failure.value.details()
    for fragment in fragments:
        assert fragment in failure.value.details()


def test_should_refuse_a_shape_between_variants_when_none_is_compiled_for_it(stub: GRPCInferenceServiceStub) -> None:
    with pytest.raises(grpc.RpcError) as failure:
        stub.ModelInfer(request("variants", {"steps": np.zeros((1, 17, 4), np.float32)}))
    assert failure.value.code() == INVALID
    assert "17" in failure.value.details()


def test_should_refuse_typed_contents_when_dtype_has_no_field(stub: GRPCInferenceServiceStub) -> None:
    message = typed_request("bfloat", "fp32_contents", {"x": np.zeros((1, 8), np.float32)})
    message.inputs[0].datatype = "BF16"
    with pytest.raises(grpc.RpcError) as failure:
        stub.ModelInfer(message)
    assert failure.value.code() == INVALID
    assert "unexpected explicit tensor data for input tensor" in failure.value.details()


def test_should_go_on_serving_when_bad_requests_came_before(stub: GRPCInferenceServiceStub) -> None:
    response = stub.ModelInfer(request("simple", simple_inputs()))
    np.testing.assert_array_equal(np.frombuffer(response.raw_output_contents[0], np.int32), np.arange(16) + 3)
