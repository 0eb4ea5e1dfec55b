"""Calls of KServe's own client over HTTP, as a program: it and the stock client cannot share a process.

Prints what came of them as JSON, for ``test_kserve_client.py``.
"""

import asyncio
import json
import sys

import httpx
import numpy as np
from kserve import InferenceRESTClient, InferInput, InferRequest, RESTConfig
from kserve.protocol.infer_type import RequestedOutput


def request(model: str, binary: bool, outputs: bool) -> InferRequest:
    counting = np.arange(32, dtype=np.int32).reshape(2, 16)
    inputs = []
    for name, array in (("INPUT0", counting), ("INPUT1", np.full((2, 16), 3, np.int32))):
        tensor = InferInput(name, list(array.shape), "INT32")
        tensor.set_data_from_numpy(array, binary_data=binary)
        inputs.append(tensor)
    wanted = [RequestedOutput(name, {"binary_data": binary}) for name in ("OUTPUT0", "OUTPUT1")] if outputs else None
    return InferRequest(model, inputs, request_id="q", request_outputs=wanted)


async def main(url: str) -> dict[str, object]:
    async with InferenceRESTClient(RESTConfig(protocol="v2", retries=0)) as client:
        seen: dict[str, object] = {
            "live": await client.is_server_live(url),
            "ready": await client.is_server_ready(url),
            "models": [await client.is_model_ready(url, name) for name in ("simple", "ghost")],
        }
        for binary in (True, False):
            for outputs in (True, False):
                answer = await client.infer(url, request("simple", binary, outputs), model_name="simple")
                tensors = {output.name: output.as_numpy().tolist() for output in answer.outputs}
                seen[f"binary={binary} outputs={outputs}"] = [answer.id, answer.model_name, tensors]
        try:
            await client.infer(url, request("ghost", True, True), model_name="ghost")
        except httpx.HTTPStatusError as failure:
            seen["unknown"] = [failure.response.status_code, failure.response.json()["error"]]
        return seen


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1]))))
