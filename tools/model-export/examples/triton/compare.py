"""Compares a server, by Triton's own client, with onnxruntime: ``compare.py DIR [ADDRESS]``.

``DIR`` is what ``make_repository.py`` made, ``ADDRESS`` the server's gRPC port (localhost:8001).
Needs the packages ``tritonclient[grpc]`` and ``onnxruntime``. Exit code 1 when an answer is off.
"""

import sys
from pathlib import Path

import numpy as np
import onnxruntime
import tritonclient.grpc as triton

TOLERANCE = 1e-5
ROWS = 3


def request(name: str, array: np.ndarray, datatype: str) -> triton.InferInput:
    given = triton.InferInput(name, list(array.shape), datatype)
    given.set_data_from_numpy(array)
    return given


def session(repository: Path, model: str, version: str) -> onnxruntime.InferenceSession:
    file = repository / model / version / "model.onnx"
    return onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])


def largest_differences(client: triton.InferenceServerClient, repository: Path) -> dict[str, float]:
    """By model and version; of random requests, and of one sequence for the model with state."""
    rng = np.random.default_rng(7)
    pixels = rng.standard_normal((ROWS, 64), dtype=np.float32)
    plain = {
        ("iris", "1"): ("x", rng.standard_normal((ROWS, 4), dtype=np.float32), "FP32", (-1, 4)),
        ("digits", "1"): ("pixels", pixels, "FP32", (-1, 1, 8, 8)),
        ("words", "1"): ("tokens", rng.integers(0, 100, (ROWS, 16)), "INT64", (-1, 16)),
        ("words", "2"): ("tokens", rng.integers(0, 100, (ROWS, 64)), "INT64", (-1, 64)),
    }
    found = {}
    for (model, version), (name, array, datatype, shape) in plain.items():
        answer = client.infer(model, [request(name, array, datatype)], model_version=version)
        run = session(repository, model, version)
        output = run.get_outputs()[0].name
        (wanted,) = run.run([output], {name: array.reshape(shape)})
        found[f"{model} {version}"] = float(np.abs(answer.as_numpy(output) - wanted).max())
    found["counter 1"] = sequence_difference(client, session(repository, "counter", "1"))
    return found


def sequence_difference(
    client: triton.InferenceServerClient, run: onnxruntime.InferenceSession
) -> float:
    state = np.zeros((1, 1), np.float32)
    worst = 0.0
    for step, number in enumerate((1.5, -4.0, 0.25, 8.0)):
        x = np.full((1, 1), number, np.float32)
        answer = client.infer(
            "counter",
            [request("x", x, "FP32")],
            sequence_id=26,
            sequence_start=step == 0,
            sequence_end=step == 3,
        )
        start = np.full((1, 1), step == 0, np.float32)
        total, state = run.run(["total", "sum_out"], {"x": x, "START": start, "sum_in": state})
        worst = max(worst, float(np.abs(answer.as_numpy("total") - total).max()))
    return worst


def main(repository: Path, address: str) -> int:
    with triton.InferenceServerClient(address) as client:
        found = largest_differences(client, repository)
    for name, difference in found.items():
        print(f"{name:12} {difference:.1e}")
    return 0 if max(found.values()) <= TOLERANCE else 1


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: compare.py DIR [ADDRESS]")
    sys.exit(main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) == 3 else "localhost:8001"))
