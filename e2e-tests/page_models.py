"""Ten thousand models that share a few programs, and calls of some hundreds of them that never stop.

Small ones idle. Of each larger kind some are called, more than fit on the device together, so that weights come and
go. Others wait for what is not the device: a batch, a thread for their code, the gate of metas, or for ever.
"""

import hashlib
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
import numpy as np
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

import bundle_files
import java_bundles
import scaling_bundle
from calls import request

ALL = 10_000
CONTRACT = """\
inputs:
  - {name: x, dtype: f32, shape: [n, 4]}
outputs:
  - {name: y, dtype: f32, shape: [n, 4]}
"""
META = CONTRACT.replace("inputs", "client_inputs").replace("outputs", "client_outputs")
SLOW_HOOK = """\
import dev.roundhouse.hooks.*;

class Model implements ModelHooks {
  @Override
  public Tensors preprocess(HookRequest request) throws Exception {
    Thread.sleep(40);
    return Tensors.of(request.input("x"));
  }
}
"""
CALLING = """\
import dev.roundhouse.hooks.*;

class Model implements MetaModel {
  @Override
  public Tensors run(HookRequest request, Calls calls) throws Exception {
    Thread.sleep(20);
    return calls.call("rank-0003", Tensors.of(request.input("x")), "y");
  }
}
"""
SETTINGS = (
    "device.cpu.weights=copy",
    "device.cpu.threads=1",
    "residency.device-memory=200MB",
    "hooks.threads=8",
    "hooks.meta-concurrency=2",
    *(f"models.batch-{n:04}.max-queue-delay=400ms" for n in range(3)),
)


@dataclass(frozen=True)
class Kind:
    """Models of one program, which adds all its weights up: a run takes longer the larger they are.

    ``deepest`` is how many requests of the first of them are open at once; of the n-th, so many by n.
    """

    name: str
    count: int
    weight_bytes: int
    called: int
    deepest: int


KINDS = (
    Kind("rank", 4200, 64 << 10, 160, 12),
    Kind("embed", 3500, 64 << 10, 0, 0),
    Kind("classify", 500, 256 << 10, 90, 14),
    Kind("detect", 300, 1 << 20, 80, 24),
    Kind("translate", 80, 6 << 20, 70, 30),
)
BATCH, HOOKED, META_NAMES = 3, 3, 3  # of those that wait for something else


def name(kind: str, index: int) -> str:
    return f"{kind}-{index:04}"


def write(repository: Path) -> None:
    """Files of models that are alike are the same files under several names."""
    for kind in KINDS:
        first = _summing(repository, name(kind.name, 0), kind.weight_bytes)
        for index in range(1, kind.count):
            _link(first, repository / name(kind.name, index))
    for index in range(BATCH):
        _summing(repository, name("batch", index), 64 << 10, (1, 8))
    for index in range(HOOKED):
        _hooked(repository, name("read-picture", index))
    for index in range(META_NAMES):
        folder = java_bundles.write(repository, name("answer", index), META, CALLING, "rank-0003")
        assert folder.exists()
    weights = _summing(repository, "damaged", 64 << 10) / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    for index in range(ALL - len(list(repository.iterdir()))):
        _link(repository / name("embed", 0), repository / name("forecast", index))


def _link(bundle: Path, folder: Path) -> None:
    folder.mkdir()
    for file in bundle.iterdir():
        os.link(file, folder / file.name)


def _summing(repository: Path, model: str, weight_bytes: int, batches: tuple[int, ...] = (1,)) -> Path:
    numbers = weight_bytes // 4
    sizes = ", ".join(map(str, batches))
    manifest = f'format_version: "3"\nkind: model\n{CONTRACT}batch_sizes: [{sizes}]\nfiles:\n'
    modules = {f"model.b{rows}.mlir": _program(rows, numbers) for rows in batches}
    return bundle_files.write(repository / model, manifest, modules, scaling_bundle.weights(numbers, 1))


def _program(rows: int, weights: int) -> str:
    row = f"tensor<{rows}x4xf32>"
    return f"""\
module {{
  func.func public @main(%x: {row}, %w: tensor<{weights}xf32>) -> {row} {{
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %sum = stablehlo.reduce(%w init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<{weights}xf32>, tensor<f32>) -> tensor<f32>
    %factor = stablehlo.broadcast_in_dim %sum, dims = [] : (tensor<f32>) -> {row}
    %y = stablehlo.multiply %x, %factor : {row}
    return %y : {row}
  }}
}}
"""


def _hooked(repository: Path, model: str) -> None:
    folder = _summing(repository, model, 64 << 10)
    (folder / "Model.java").write_text(SLOW_HOOK, encoding="utf-8")
    digest = hashlib.sha256(SLOW_HOOK.encode()).hexdigest()
    manifest = folder / "manifest.yaml"
    manifest.write_text(manifest.read_text().replace("files:\n", f"files:\n  Model.java: {digest}\n"))


def called() -> dict[str, int]:
    """How many requests of which model are open at once."""
    depths = {
        name(kind.name, index): max(1, kind.deepest // (index + 1)) for kind in KINDS for index in range(kind.called)
    }
    depths |= {name("batch", index): 3 for index in range(BATCH)}
    depths |= {name("read-picture", index): 8 - index for index in range(HOOKED)}
    depths |= {name("answer", index): 4 - index for index in range(META_NAMES)}
    return depths


@contextmanager
def calls(address: str) -> Iterator[None]:
    """Has each answer to a model send it the next request. A refusal ends the calls of its model."""
    over = threading.Event()
    open_calls = threading.Semaphore(0)
    row = {"x": np.ones((1, 4), np.float32)}
    depths = called()
    with grpc.insecure_channel(address) as channel:
        stub = GRPCInferenceServiceStub(channel)

        def ask(message: object) -> None:
            call = stub.ModelInfer.future(message)
            call.add_done_callback(lambda done: answered(message, done))

        def answered(message: object, done: grpc.Future) -> None:
            if over.is_set() or done.exception() is not None:
                open_calls.release()
            else:
                ask(message)

        for model, depth in depths.items():
            for _ in range(depth):
                ask(request(model, row))
        try:
            yield
        finally:
            over.set()
            for _ in range(sum(depths.values())):
                open_calls.acquire(timeout=30)
