"""Fourier transforms, windows of signals, and determinants."""

import jax
import jax.numpy as jnp
import numpy as np

from roundhouse_export.onnx_graph.arrays import known, known_int
from roundhouse_export.onnx_graph.ops_cast import dtype_of
from roundhouse_export.onnx_graph.registry import Node, Value, operator


def _complex(x: Value) -> Value:
    return x[..., 0] + 1j * x[..., 1] if x.shape[-1] == 2 else x[..., 0]


def _parts(x: Value, dtype: np.dtype) -> Value:
    return jnp.stack([x.real, x.imag], -1).astype(dtype)


@operator("DFT")
def dft_with_axis_attribute(node: Node, x: Value, length: Value = None) -> Value:
    return _dft(node, x, length, node.get("axis", 1))


@operator("DFT", since=20)
def dft(node: Node, x: Value, length: Value = None, axis: Value = None) -> Value:
    return _dft(node, x, length, -2 if axis is None else known_int(node, axis, "axis"))


def _dft(node: Node, x: Value, length: Value, axis: int) -> Value:
    axis = axis % x.ndim
    count = x.shape[axis] if length is None else known_int(node, length, "dft_length")
    one_sided, inverse = bool(node.get("onesided", 0)), bool(node.get("inverse", 0))
    signal = _complex(jnp.asarray(x))
    if one_sided and inverse:
        count = 2 * (count - 1) if length is None else count
        return jnp.fft.irfft(signal, count, axis)[..., None].astype(x.dtype)
    if not inverse and not jnp.iscomplexobj(signal):
        return _parts(_of_real(signal, count, axis, one_sided), x.dtype)
    transform = jnp.fft.ifft if inverse else jnp.fft.fft
    spectrum = transform(signal, count, axis)
    if one_sided:
        spectrum = jax.lax.slice_in_dim(spectrum, 0, count // 2 + 1, axis=axis)
    return _parts(spectrum, x.dtype)


def _of_real(signal: Value, count: int, axis: int, one_sided: bool) -> Value:
    """The second half of the spectrum of a real signal mirrors the first."""
    half = jnp.fft.rfft(signal, count, axis)
    if one_sided:
        return half
    mirrored = jax.lax.slice_in_dim(half, 1, (count + 1) // 2, axis=axis)
    return jnp.concatenate([half, jnp.conj(jnp.flip(mirrored, axis))], axis=axis)


@operator("STFT")
def stft(node: Node, x: Value, step: Value, window: Value = None, length: Value = None) -> Value:
    stride = known_int(node, step, "frame_step")
    if length is not None:
        size = known_int(node, length, "frame_length")
    elif window is not None:
        size = window.shape[0]
    else:
        size = x.shape[1]
    signal = _complex(jnp.asarray(x)) if x.ndim == 3 else jnp.asarray(x)
    count = (signal.shape[1] - size) // stride + 1
    frames = signal[:, (np.arange(count) * stride)[:, None] + np.arange(size)]
    if window is not None:
        frames = frames * window
    spectrum = jnp.fft.fft(frames, axis=-1)
    if node.get("onesided", 1):
        spectrum = spectrum[..., : size // 2 + 1]
    return _parts(spectrum, x.dtype)


def _register_window(name: str, terms: tuple[float, ...]) -> None:
    @operator(name)
    def window(node: Node, size: Value) -> Value:
        count = known_int(node, size, "size")
        span = count if node.get("periodic", 1) else count - 1
        angle = 2 * np.pi * np.arange(count) / span
        values = sum(term * np.cos(k * angle) for k, term in enumerate(terms))
        return np.asarray(values).astype(dtype_of(node, node.get("output_datatype", 1)))


_register_window("HannWindow", (0.5, -0.5))
_register_window("HammingWindow", (25 / 46, -21 / 46))
_register_window("BlackmanWindow", (0.42, -0.5, 0.08))


@operator("MelWeightMatrix")
def mel_weight_matrix(
    node: Node, bins: Value, length: Value, rate: Value, lowest: Value, highest: Value
) -> Value:
    count, size = known_int(node, bins, "num_mel_bins"), known_int(node, length, "dft_length")
    per_second = known_int(node, rate, "sample_rate")
    low, high = (
        2595 * np.log10(1 + float(known(node, edge, "an edge").reshape(())) / 700)
        for edge in (lowest, highest)
    )
    points = low + np.arange(count + 2) * ((high - low) / (count + 2))
    at = np.floor((size + 1) * (700 * (10 ** (points / 2595) - 1)) / per_second).astype(int)
    matrix = np.zeros((size // 2 + 1, count))
    for column in range(count):
        left, centre, right = at[column : column + 3]
        if centre == left:
            matrix[centre, column] = 1
        else:
            for row in range(left, centre + 1):
                matrix[row, column] = (row - left) / (centre - left)
        for row in range(centre, right):
            if right > centre:
                matrix[row, column] = (right - row) / (right - centre)
    return matrix.astype(dtype_of(node, node.get("output_datatype", 1)))


@operator("Det")
def det(_node: Node, x: Value) -> Value:
    """By elimination with the largest pivot: a library's routine would tie the program to one."""
    size = x.shape[-1]
    matrix = jnp.reshape(x, (-1, size, size))
    result = jnp.ones(matrix.shape[0], x.dtype)
    rows = np.arange(size)
    for column in range(size):
        candidates = jnp.where(rows >= column, jnp.abs(matrix[:, :, column]), -1)
        pivot = jnp.argmax(candidates, axis=1)[:, None]
        order = jnp.where(rows == column, pivot, jnp.where(rows == pivot, column, rows))
        matrix = jnp.take_along_axis(matrix, order[..., None], axis=1)
        top = matrix[:, column, column]
        result = result * top * jnp.where(pivot[:, 0] == column, 1, -1).astype(x.dtype)
        factors = matrix[:, :, column] / jnp.where(top == 0, 1, top)[:, None]
        factors = jnp.where(rows > column, factors, 0)
        matrix = matrix - factors[..., None] * matrix[:, column][:, None]
    return result.reshape(x.shape[:-2])
