"""What the demo compares with: onnxruntime on the same weights, and numpy before and behind it."""

from pathlib import Path

import numpy as np
import onnxruntime

WIDTH, HEIGHT, CELL = 640, 480, 4
LOWEST_SCORE, OVERLAP = 0.5, 0.3


class Beside:
    def __init__(self, file: Path) -> None:
        settings = onnxruntime.SessionOptions()
        settings.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(file, settings, providers=["CPUExecutionProvider"])

    def faces(self, pixels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Boxes, scores and landmarks in a picture, u8 [height, width, 3]."""
        height, width = pixels.shape[:2]
        scale = min(WIDTH / width, HEIGHT / height)
        fitted_width, fitted_height = (max(1, int(size * scale + 0.5)) for size in (width, height))
        down, across = weights(height, fitted_height), weights(width, fitted_width)
        image = np.zeros((1, 3, HEIGHT, WIDTH), np.float32)
        image[0, :, :fitted_height, :fitted_width] = np.einsum("yh,hwc,xw->cyx", down, pixels, across, optimize=True)
        outputs = self._session.run(["heatmap", "size", "offset", "points"], {"image": image})
        heat, size, offset, points = (output[0] for output in outputs)

        rows, columns = np.nonzero(heat[0] > LOWEST_SCORE)
        scores = heat[0, rows, columns]
        extent = np.exp(size[:, rows, columns]) * CELL  # height, width
        centre = (np.stack([rows, columns]) + offset[:, rows, columns] + 0.5) * CELL
        corner = centre - extent / 2
        marks = points[:, rows, columns].reshape(5, 2, -1) * extent + corner
        scales = np.array([height / fitted_height, width / fitted_width])
        corners = [each * scales[:, None] for each in (corner, corner + extent)]
        boxes = np.stack([corners[0][1], corners[0][0], corners[1][1], corners[1][0]], axis=1)
        boxes = np.clip(boxes, 0, [width, height, width, height])
        landmarks = (marks * scales[:, None]).transpose(2, 0, 1)[:, :, ::-1]  # across before down, as boxes have them
        kept = best(boxes, scores)
        return boxes[kept], scores[kept], landmarks[kept]


def weights(size: int, fitted: int) -> np.ndarray:
    """[fitted, size]: each output is a mean of the inputs near it, with weights that fall off linearly."""
    scale = size / fitted
    centres = (np.arange(fitted)[:, None] + 0.5) * scale
    distance = np.abs(np.arange(size)[None] + 0.5 - centres) / max(1, scale)
    near = np.maximum(0, 1 - distance)
    return near / near.sum(axis=1, keepdims=True)


def best(boxes: np.ndarray, scores: np.ndarray) -> list[int]:
    """Of boxes that overlap, the one of the highest score, in the order of scores."""
    kept: list[int] = []
    for candidate in np.argsort(-scores, kind="stable"):
        if all(overlap(boxes[candidate], boxes[other]) <= OVERLAP for other in kept):
            kept.append(int(candidate))
    return kept


def overlap(one: np.ndarray, other: np.ndarray) -> float:
    """Intersection over union."""
    sides = np.minimum(one[2:], other[2:]) - np.maximum(one[:2], other[:2])
    both = np.prod(np.maximum(0, sides))
    return float(both / (np.prod(one[2:] - one[:2]) + np.prod(other[2:] - other[:2]) - both))
