"""What the demo compares with: onnxruntime on the reader's weights, for the boxes that the server found."""

from pathlib import Path

import numpy as np
import onnxruntime

HEIGHT, WIDTHS = 48, (320, 640)


class Beside:
    def __init__(self, folder: Path) -> None:
        settings = onnxruntime.SessionOptions()
        settings.log_severity_level = 3
        file = folder / "reader.onnx"
        self._session = onnxruntime.InferenceSession(file, settings, providers=["CPUExecutionProvider"])
        listed = (folder / "characters.txt").read_bytes().decode().split("\n")
        self._characters = ["", *listed[: -1 if listed[-1] == "" else None], " "]

    def read(self, pixels: np.ndarray, box: np.ndarray) -> tuple[str, float]:
        """The text in a box of a picture, u8 [height, width, 3], and its score."""
        left, top, right, bottom = box.astype(np.float64)
        columns = min(max(1, int(HEIGHT * (right - left) / (bottom - top) + 0.5)), WIDTHS[-1])
        crops = np.zeros((1, 3, HEIGHT, next(width for width in WIDTHS if columns <= width)), np.float32)
        rows = places(top, bottom, HEIGHT, pixels.shape[0])
        across = places(left, right, columns, pixels.shape[1])
        part = between(between(pixels.astype(np.float64), *rows, axis=0), *across, axis=1)
        crops[0, :, :, :columns] = (part / 127.5 - 1).transpose(2, 0, 1)[::-1]
        (classes,) = self._session.run(["classes"], {"crops": crops})
        best = classes[0].argmax(axis=1)
        kept = (best != 0) & (best != np.concatenate([[0], best[:-1]]))
        score = float(classes[0].max(axis=1)[kept].mean()) if kept.any() else 0.0
        return "".join(self._characters[each] for each in best[kept]).strip(), score


def places(begin: float, end: float, count: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """For each output the pixel before it, and how far it is behind that one."""
    at = np.clip(begin + (np.arange(count) + 0.5) * (end - begin) / count - 0.5, 0, size - 1)
    return at.astype(int), at % 1


def between(pixels: np.ndarray, first: np.ndarray, share: np.ndarray, axis: int) -> np.ndarray:
    following = np.minimum(first + 1, pixels.shape[axis] - 1)
    shares = share.reshape((-1, 1, 1) if axis == 0 else (1, -1, 1))
    one, other = pixels.take(first, axis=axis), pixels.take(following, axis=axis)
    return one + (other - one) * shares
