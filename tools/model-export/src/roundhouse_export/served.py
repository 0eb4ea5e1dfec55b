"""A model of a running server, asked over KServe's HTTP with binary tensors."""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping

import numpy as np

from roundhouse_export import dtypes
from roundhouse_export.contract import Contract
from roundhouse_export.refusal import RefusedError

_TIMEOUT_SECONDS = 60
_JSON_LENGTH = "Inference-Header-Content-Length"
_WIRE = {"bool": "BOOL", "f64": "FP64", "f32": "FP32", "f16": "FP16", "bf16": "BF16"}


class ServedModel:
    def __init__(self, url: str, name: str, contract: Contract) -> None:
        self._url = f"{url.rstrip('/')}/v2/models/{name}/infer"
        self._contract = contract

    def answers(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Outputs by name; RefusedError with the server's own text when it refuses."""
        payloads = [np.ascontiguousarray(inputs[s.name]).tobytes() for s in self._contract.inputs]
        head = json.dumps(
            {
                "inputs": [
                    {
                        "name": spec.name,
                        "datatype": _wire(spec.dtype),
                        "shape": list(inputs[spec.name].shape),
                        "parameters": {"binary_data_size": len(payload)},
                    }
                    for spec, payload in zip(self._contract.inputs, payloads, strict=True)
                ],
                "parameters": {"binary_data_output": True},
            }
        ).encode()
        request = urllib.request.Request(
            self._url, head + b"".join(payloads), {_JSON_LENGTH: str(len(head))}
        )
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as response:
                body = response.read()
                length = int(response.headers.get(_JSON_LENGTH, len(body)))
        except urllib.error.HTTPError as e:
            raise RefusedError(f"{self._url} answers {e.code}: {e.read(1000).decode()}") from e
        except OSError as e:
            raise RefusedError(f"{self._url} cannot be asked: {e}") from e
        return self._read(json.loads(body[:length]), body[length:])

    def _read(self, head: Mapping[str, object], data: bytes) -> dict[str, np.ndarray]:
        found = {}
        at = 0
        wanted = {spec.name: dtypes.numpy_dtype(spec.dtype) for spec in self._contract.outputs}
        outputs = head["outputs"]
        assert isinstance(outputs, list)
        for output in outputs:
            size = output["parameters"]["binary_data_size"]
            array = np.frombuffer(data[at : at + size], wanted[output["name"]])
            found[output["name"]] = array.reshape(output["shape"])
            at += size
        return found


def _wire(token: str) -> str:
    """KServe's name of a dtype."""
    return _WIRE.get(token) or ("UINT" if token[0] == "u" else "INT") + token[1:]
