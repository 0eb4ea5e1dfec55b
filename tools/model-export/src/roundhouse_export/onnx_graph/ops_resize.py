"""Resizing: per axis a few taps with weights that are known at export."""

from dataclasses import dataclass
from functools import reduce

import jax.numpy as jnp
import numpy as np

from roundhouse_export.onnx_graph.arrays import axes_of, known
from roundhouse_export.onnx_graph.registry import Node, Value, operator


@dataclass(frozen=True)
class _Axis:
    """One axis that is resized; ``window`` is the part of it that is looked at, in shares."""

    extent: int
    outputs: int
    scale: float
    window: tuple[float, float]

    def places(self, node: Node) -> np.ndarray:
        """Where in the input each output lies."""
        x = np.arange(self.outputs, dtype=np.float64)
        how = node.get("coordinate_transformation_mode", "half_pixel")
        match how:
            case "asymmetric":
                return x / self.scale
            case "align_corners":
                span = self.extent * self.scale - 1
                return x * (0 if span == 0 else (self.extent - 1) / span)
            case "pytorch_half_pixel":
                one = self.extent * self.scale <= 1
                return np.full_like(x, -0.5) if one else (x + 0.5) / self.scale - 0.5
            case "tf_half_pixel_for_nn":
                return (x + 0.5) / self.scale
            case "half_pixel":
                return (x + 0.5) / self.scale - 0.5
            case "half_pixel_symmetric":
                exact = self.extent * self.scale
                offset = self.extent / 2 * (1 - self.outputs / exact)
                return offset + (x + 0.5) / self.scale - 0.5
            case "tf_crop_and_resize":
                start, end = self.window
                if self.outputs == 1:
                    return np.full(1, 0.5 * (start + end) * (self.extent - 1))
                step = (end - start) * (self.extent - 1) / (self.outputs - 1)
                return start * (self.extent - 1) + x * step
        raise node.refuse(f"coordinate_transformation_mode {how} is not known")


def _nearest(node: Node, places: np.ndarray) -> np.ndarray:
    match node.get("nearest_mode", "round_prefer_floor"):
        case "round_prefer_floor":
            return np.ceil(places - 0.5)
        case "round_prefer_ceil":
            return np.floor(places + 0.5)
        case "floor":
            return np.floor(places)
    return np.ceil(places)


def _cubic(distance: np.ndarray, a: float) -> np.ndarray:
    d = np.abs(distance)
    near = (a + 2) * d**3 - (a + 3) * d**2 + 1
    far = a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


def _taps(node: Node, axis: _Axis, places: np.ndarray, mode: str) -> tuple[np.ndarray, np.ndarray]:
    """Returns, per output, the inputs that it mixes and their weights."""
    if mode == "nearest":
        nearest = np.clip(_nearest(node, places), 0, axis.extent - 1)
        return nearest[:, None], np.ones((len(places), 1))
    stretch = min(axis.scale, 1.0) if node.get("antialias", 0) else 1.0
    half = (1 if mode == "linear" else 2) / stretch
    first = np.floor(places - half) + 1
    count = int(np.ceil(2 * half)) + (0 if stretch == 1.0 else 1)
    at = first[:, None] + np.arange(count)
    distance = (at - places[:, None]) * stretch
    if mode == "linear":
        shares = np.maximum(1 - np.abs(distance), 0)
    else:
        shares = _cubic(distance, node.get("cubic_coeff_a", -0.75))
    if node.get("exclude_outside", 0):
        shares = np.where((at < 0) | (at >= axis.extent), 0, shares)
    return np.clip(at, 0, axis.extent - 1), shares / shares.sum(1, keepdims=True)


def _along(node: Node, x: Value, position: int, axis: _Axis, mode: str) -> Value:
    places = axis.places(node)
    at, shares = _taps(node, axis, places, mode)
    at = at.astype(np.int32)
    if at.shape[1] == 1:
        y = jnp.take(x, at[:, 0], axis=position)
    elif at.shape[1] <= 4:
        shape = [1] * x.ndim
        shape[position] = axis.outputs
        terms = (
            jnp.take(x, at[:, tap], axis=position) * shares[:, tap].reshape(shape).astype(x.dtype)
            for tap in range(at.shape[1])
        )
        y = reduce(jnp.add, terms)
    else:
        matrix = np.zeros((axis.outputs, axis.extent))
        np.add.at(matrix, (np.arange(axis.outputs)[:, None], at), shares)
        y = jnp.moveaxis(jnp.tensordot(matrix.astype(x.dtype), x, (1, position)), 0, position)
    if node.get("coordinate_transformation_mode") == "tf_crop_and_resize":
        outside = (places < 0) | (places > axis.extent - 1)
        shape = [1] * x.ndim
        shape[position] = axis.outputs
        filler = np.asarray(node.get("extrapolation_value", 0.0), x.dtype)
        y = jnp.where(outside.reshape(shape), filler, y)
    return y


def resize_to(node: Node, x: Value, axes: dict[int, _Axis], mode: str) -> Value:
    whole = not jnp.issubdtype(x.dtype, jnp.floating)
    y = jnp.asarray(x).astype(jnp.float32) if whole and mode != "nearest" else jnp.asarray(x)
    for position, axis in axes.items():
        if axis.outputs != axis.extent or axis.scale != 1.0 or axis.window != (0.0, 1.0):
            y = _along(node, y, position, axis, mode)
    if whole and mode != "nearest":
        limits = jnp.iinfo(x.dtype)
        y = jnp.clip(jnp.round(y), limits.min, limits.max)
    return y.astype(x.dtype)


@operator("Upsample")
def upsample(node: Node, x: Value, scales: Value = None) -> Value:
    given = node.get("scales") if scales is None else known(node, scales, "scales")
    old = Node(
        node.op,
        node.name,
        node.domain,
        node.version,
        {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
        node.outputs,
    )
    axes = {
        position: _Axis(n, int(np.floor(n * scale)), float(scale), (0.0, 1.0))
        for position, (n, scale) in enumerate(zip(x.shape, given, strict=True))
    }
    return resize_to(old, x, axes, node.get("mode", "nearest"))


@operator("Resize")
def resize_by_scales(node: Node, x: Value, scales: Value) -> Value:
    """Version 10, before there were other ways to place the outputs."""
    return upsample(node, x, scales)


@operator("Resize", since=11)
def resize(
    node: Node, x: Value, roi: Value = None, scales: Value = None, sizes: Value = None
) -> Value:
    over = axes_of(node, node.get("axes") or range(x.ndim), x.ndim)
    by_size = sizes is not None and sizes.size > 0
    if by_size:
        wanted = [float(each) for each in known(node, sizes, "sizes")]
        factors = [size / x.shape[axis] for size, axis in zip(wanted, over, strict=True)]
        policy = node.get("keep_aspect_ratio_policy", "stretch")
        if policy != "stretch":
            factor = min(factors) if policy == "not_larger" else max(factors)
            factors = [factor] * len(factors)
            wanted = [np.floor(x.shape[axis] * factor + 0.5) for axis in over]
    else:
        factors = [float(each) for each in known(node, scales, "scales")]
        wanted = [np.floor(x.shape[axis] * f) for axis, f in zip(over, factors, strict=True)]
    crops = node.get("coordinate_transformation_mode") == "tf_crop_and_resize"
    window = [0.0] * len(over) + [1.0] * len(over)
    if crops and roi is not None and roi.size:
        window = [float(each) for each in known(node, roi, "roi")]
    axes = {
        axis: _Axis(
            x.shape[axis],
            int(wanted[i]),
            factors[i],
            (window[i], window[len(over) + i]),
        )
        for i, axis in enumerate(over)
    }
    return resize_to(node, x, axes, node.get("mode", "nearest"))
