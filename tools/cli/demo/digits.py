"""Held-out images of handwritten digits, classified by the model 'digits'."""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

SHADES = " .:-=+*#%@"
BRIGHTEST = 16
SHOWN = 6
MODEL = "digits"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, required=True, help="the repository's root folder")
    parser.add_argument("--port", type=int, required=True, help="gRPC port of a server on this machine")
    options = parser.parse_args()

    unseen = np.load(options.root / "examples" / "digits" / "heldout.npz")
    names = (options.root / "examples" / "models" / MODEL / "labels.txt").read_text().split()
    with triton.InferenceServerClient(f"127.0.0.1:{options.port}") as client:
        try:
            if not client.is_model_ready(MODEL):
                print(f"the server on port {options.port} has no ready model '{MODEL}'", file=sys.stderr)
                return 1
            predicted, seconds = classify(client, unseen["pixels"])
        except InferenceServerException as error:
            print(f"the server on port {options.port} does not answer as KServe V2: {error}", file=sys.stderr)
            return 1
    show(unseen["pixels"], unseen["labels"], predicted, seconds, names)
    return 0


def classify(client: triton.InferenceServerClient, pixels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Asks for one image at a time; returns the predicted labels and the seconds of each call."""
    inputs = (pixels / np.float32(BRIGHTEST)).astype(np.float32)[..., None]
    ask(client, inputs[:1])  # opens the connection, which is no part of a call
    predicted, seconds = [], []
    for i in range(len(inputs)):
        began = time.perf_counter()
        scores = ask(client, inputs[i : i + 1])
        seconds.append(time.perf_counter() - began)
        predicted.append(int(scores.argmax()))
    return np.array(predicted), np.array(seconds)


def ask(client: triton.InferenceServerClient, image: np.ndarray) -> np.ndarray:
    tensor = triton.InferInput("pixels", list(image.shape), "FP32").set_data_from_numpy(image)
    return client.infer(MODEL, [tensor]).as_numpy("scores")


def show(pixels: np.ndarray, labels: np.ndarray, predicted: np.ndarray, seconds: np.ndarray, names: list[str]) -> None:
    wrong = np.flatnonzero(predicted != labels)
    for title, chosen in (("held-out images", range(SHOWN)), ("those it gets wrong", wrong[:SHOWN])):
        chosen = list(chosen)
        if chosen:
            print(f"{title}:\n")
            print_images([pixels[i] for i in chosen])
            print_row([f"says {names[predicted[i]]}" for i in chosen])
            print_row([f"is   {names[labels[i]]}" for i in chosen])
            print_row([f"{seconds[i] * 1e3:.2f} ms" for i in chosen])
            print()
    right = len(labels) - len(wrong)
    print(f"accuracy  {right} of {len(labels)} ({right / len(labels):.2%})".replace("%)", " %)"))
    print(f"latency   p50 {np.median(seconds) * 1e3:.2f} ms, worst {seconds.max() * 1e3:.2f} ms, one image a call")


def print_images(images: list[np.ndarray]) -> None:
    for row in range(images[0].shape[0]):
        print_row(["".join(2 * shade(value) for value in image[row]) for image in images])


def print_row(cells: list[str]) -> None:
    print("   ".join(f"{cell:16}" for cell in cells).rstrip())


def shade(value: int) -> str:
    return SHADES[int(value) * (len(SHADES) - 1) // BRIGHTEST]


if __name__ == "__main__":
    sys.exit(main())
