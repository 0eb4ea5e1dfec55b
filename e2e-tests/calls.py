"""Requests as tests want to say them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tritonclient.grpc as triton
from tritonclient.grpc.service_pb2 import ModelInferRequest
from tritonclient.utils import np_to_triton_dtype

Arrays = dict[str, np.ndarray]


def infer(
    client: triton.InferenceServerClient,
    model: str,
    inputs: Mapping[str, np.ndarray],
    outputs: Sequence[str] = (),
    **options: Any,
) -> triton.InferResult:
    tensors = []
    for name, array in inputs.items():
        tensor = triton.InferInput(name, list(array.shape), np_to_triton_dtype(array.dtype))
        tensors.append(tensor.set_data_from_numpy(array))
    requested = [triton.InferRequestedOutput(name) for name in outputs] or None
    return client.infer(model, tensors, outputs=requested, **options)


def arrays(result: triton.InferResult) -> Arrays:
    return {output.name: result.as_numpy(output.name) for output in result.get_response().outputs}


def request(model: str, inputs: Mapping[str, np.ndarray], version: str = "") -> ModelInferRequest:
    """A ModelInfer message with raw contents, to be bent by the test."""
    message = ModelInferRequest(model_name=model, model_version=version)
    for name, array in inputs.items():
        datatype = np_to_triton_dtype(array.dtype)
        message.inputs.add(name=name, datatype=datatype, shape=array.shape)
        message.raw_input_contents.append(array.tobytes())
    return message


def typed_request(model: str, field: str, inputs: Mapping[str, np.ndarray]) -> ModelInferRequest:
    """The same with typed contents in the given field of InferTensorContents."""
    message = request(model, inputs)
    del message.raw_input_contents[:]
    for tensor, array in zip(message.inputs, inputs.values(), strict=True):
        getattr(tensor.contents, field).extend(array.ravel().tolist())
    return message


def simple_inputs(rows: int = 1, start: int = 0) -> Arrays:
    """Inputs of the model 'simple': counting numbers, and threes."""
    counting = np.arange(start, start + rows * 16, dtype=np.int32).reshape(rows, 16)
    return {"INPUT0": counting, "INPUT1": np.full((rows, 16), 3, np.int32)}
