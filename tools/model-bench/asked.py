"""A served model, asked over KServe's HTTP with binary tensors on a connection that stays."""

import http.client
import json
from collections.abc import Mapping

import numpy as np

_JSON_LENGTH = "Inference-Header-Content-Length"
_WIRE = {"float32": "FP32", "int32": "INT32", "int64": "INT64"}


class AskedModel:
    """One request, made once and sent again and again; of one thread."""

    def __init__(self, port: int, name: str, inputs: Mapping[str, np.ndarray]) -> None:
        payloads = [np.ascontiguousarray(each).tobytes() for each in inputs.values()]
        head = json.dumps(
            {
                "inputs": [
                    {
                        "name": input_name,
                        "datatype": _WIRE[str(array.dtype)],
                        "shape": list(array.shape),
                        "parameters": {"binary_data_size": array.nbytes},
                    }
                    for input_name, array in inputs.items()
                ],
                "parameters": {"binary_data_output": True},
            }
        ).encode()
        self._path = f"/v2/models/{name}/infer"
        self._headers = {_JSON_LENGTH: str(len(head))}
        self._body = head + b"".join(payloads)
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def ask(self) -> bytes:
        """The answer's bytes: a JSON head, then outputs as they lie in memory."""
        self._connection.request("POST", self._path, self._body, self._headers)
        response = self._connection.getresponse()
        body = response.read()
        if response.status != 200:
            raise SystemExit(f"{self._path} answers {response.status}: {body[:500].decode()}")
        return body

    def close(self) -> None:
        self._connection.close()
