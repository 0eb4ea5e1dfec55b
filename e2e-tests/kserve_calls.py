"""Calls of KServe's own clients, as a program: they and the stock client cannot share a process.

Prints what came of them as JSON, for ``test_kserve_client.py``: ``kserve_calls.py HTTP_URL GRPC_ADDRESS``.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable

import grpc
import httpx
import numpy as np
from kserve import InferenceGRPCClient, InferenceRESTClient, InferInput, InferRequest, InferResponse, RESTConfig
from kserve.protocol.infer_type import RequestedOutput

Infer = Callable[[InferRequest], Awaitable[InferResponse]]


def request(model: str, binary: bool, outputs: bool) -> InferRequest:
    counting = np.arange(32, dtype=np.int32).reshape(2, 16)
    inputs = []
    for name, array in (("INPUT0", counting), ("INPUT1", np.full((2, 16), 3, np.int32))):
        tensor = InferInput(name, list(array.shape), "INT32")
        tensor.set_data_from_numpy(array, binary_data=binary)
        inputs.append(tensor)
    wanted = [RequestedOutput(name, {"binary_data": binary}) for name in ("OUTPUT0", "OUTPUT1")] if outputs else None
    return InferRequest(model, inputs, request_id="q", request_outputs=wanted)


async def answers(infer: Infer) -> dict[str, object]:
    """One for each form of a request."""
    seen: dict[str, object] = {}
    for binary in (True, False):
        for outputs in (True, False):
            answer = await infer(request("simple", binary, outputs))
            tensors = {output.name: output.as_numpy().tolist() for output in answer.outputs}
            seen[f"binary={binary} outputs={outputs}"] = [answer.id, answer.model_name, tensors]
    return seen


async def over_http(url: str) -> dict[str, object]:
    async with InferenceRESTClient(RESTConfig(protocol="v2", retries=0)) as client:
        seen = await answers(lambda asked: client.infer(url, asked, model_name=asked.model_name))
        seen["live"] = await client.is_server_live(url)
        seen["ready"] = await client.is_server_ready(url)
        seen["models"] = [await client.is_model_ready(url, name) for name in ("simple", "ghost")]
        try:
            await client.infer(url, request("ghost", True, True), model_name="ghost")
        except httpx.HTTPStatusError as failure:
            seen["unknown"] = [failure.response.status_code, failure.response.json()["error"]]
        return seen


async def over_grpc(address: str) -> dict[str, object]:
    async with InferenceGRPCClient(address, retries=0) as client:
        seen = await answers(client.infer)
        seen["live"] = await client.is_server_live()
        seen["ready"] = await client.is_server_ready()
        seen["models"] = [await client.is_model_ready(name) for name in ("simple", "ghost")]
        try:
            await client.infer(request("ghost", True, True))
        except grpc.RpcError as failure:
            seen["unknown"] = [failure.code().name, failure.details()]
        return seen


async def main(url: str, address: str) -> dict[str, object]:
    return {"http": await over_http(url), "grpc": await over_grpc(address)}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(*sys.argv[1:]))))
