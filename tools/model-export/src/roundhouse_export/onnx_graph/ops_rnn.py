"""Recurrent layers as scans over time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from roundhouse_export.onnx_graph.registry import Node, Value, operator

Activation = Callable[[Any], Any]

_ACTIVATIONS: dict[str, Callable[[Any, float, float], Any]] = {
    "sigmoid": lambda x, _a, _b: jax.nn.sigmoid(x),
    "tanh": lambda x, _a, _b: jnp.tanh(x),
    "relu": lambda x, _a, _b: jnp.maximum(x, 0),
    "affine": lambda x, a, b: a * x + b,
    "leakyrelu": lambda x, a, _b: jnp.where(x >= 0, x, a * x),
    "thresholdedrelu": lambda x, a, _b: jnp.where(x > a, x, 0),
    "scaledtanh": lambda x, a, b: a * jnp.tanh(b * x),
    "hardsigmoid": lambda x, a, b: jnp.clip(a * x + b, 0, 1),
    "elu": lambda x, a, _b: jax.nn.elu(x, a),
    "softsign": lambda x, _a, _b: x / (1 + jnp.abs(x)),
    "softplus": lambda x, _a, _b: jnp.logaddexp(x, 0),
}
_ALPHA = {"leakyrelu": 0.01, "thresholdedrelu": 1.0, "hardsigmoid": 0.2, "elu": 1.0, "affine": 1.0}
_BETA = {"hardsigmoid": 0.5}


def _activations(node: Node, usual: Sequence[str], directions: int) -> list[list[Activation]]:
    names = [each.lower() for each in node.get("activations") or list(usual) * directions]
    alphas = list(node.get("activation_alpha") or [])
    betas = list(node.get("activation_beta") or [])
    made: list[Activation] = []
    for position, name in enumerate(names):
        if name not in _ACTIVATIONS:
            raise node.refuse(f"activation {name} is not known")
        alpha = alphas[position] if position < len(alphas) else _ALPHA.get(name, 1.0)
        beta = betas[position] if position < len(betas) else _BETA.get(name, 0.0)
        made.append(lambda x, name=name, a=alpha, b=beta: _ACTIVATIONS[name](x, a, b))  # type: ignore[misc]
    each = len(usual)
    return [made[start : start + each] for start in range(0, each * directions, each)]


@dataclass(frozen=True)
class _Direction:
    """One direction of a layer; ``x`` is time, batch, features."""

    x: Value
    w: Value
    r: Value
    bias: Value
    lengths: Value
    states: tuple[Value, ...]
    backwards: bool

    def run(self, step: Callable[..., tuple[Any, ...]]) -> tuple[Value, tuple[Value, ...]]:
        """Returns the first state of every time, and the last states.

        A row that has ended keeps its states, and its outputs are nought.
        """
        gates = self.x @ self.w.T
        times = jnp.arange(self.x.shape[0])

        def advance(states: tuple[Any, ...], at: tuple[Any, Any]) -> tuple[Any, Any]:
            given, time = at
            new = step(given, *states)
            if self.lengths is None:
                return new, new[0]
            alive = (time < self.lengths)[:, None]
            kept = tuple(jnp.where(alive, a, b) for a, b in zip(new, states, strict=True))
            return kept, jnp.where(alive, new[0], 0)

        last, outputs = lax.scan(advance, self.states, (gates, times), reverse=self.backwards)
        return outputs, last


def _layer(
    node: Node,
    x: Value,
    w: Value,
    r: Value,
    bias: Value,
    lengths: Value,
    states: Sequence[Value],
    make_step: Callable[..., Callable[..., tuple[Any, ...]]],
    usual: Sequence[str],
) -> tuple[Value, ...]:
    """What LSTM, GRU and RNN have in common: directions, layout, states and lengths."""
    hidden = r.shape[-1]
    directions = w.shape[0]
    direction = node.get("direction", "forward")
    activations = _activations(node, usual, directions)
    batch_first = bool(node.get("layout", 0))
    x = jnp.swapaxes(x, 0, 1) if batch_first else jnp.asarray(x)
    outputs, lasts = [], []
    for position in range(directions):
        held = tuple(
            jnp.zeros((x.shape[1], hidden), x.dtype)
            if each is None
            else jnp.asarray(each[:, position] if batch_first else each[position])
            for each in states
        )
        one = _Direction(
            x,
            jnp.asarray(w[position]),
            jnp.asarray(r[position]),
            None if bias is None else bias[position],
            None if lengths is None else jnp.asarray(lengths),
            held,
            direction == "reverse" or position == 1,
        )
        every, last = one.run(make_step(one, position, activations[position], hidden))
        outputs.append(every)
        lasts.append(last)
    stacked = jnp.stack(outputs, 1)  # time, direction, batch, hidden
    finals = [jnp.stack(each, 0) for each in zip(*lasts, strict=True)]
    if batch_first:
        stacked = jnp.transpose(stacked, (2, 0, 1, 3))
        finals = [jnp.swapaxes(each, 0, 1) for each in finals]
    return (stacked, *finals)[: max(len(node.outputs), 1)]


def _clipped(node: Node) -> Activation:
    limit = node.get("clip")
    return (lambda x: x) if not limit else (lambda x: jnp.clip(x, -limit, limit))


def _halves(bias: Value) -> tuple[Value, Value]:
    if bias is None:
        return np.float32(0), np.float32(0)
    half = bias.shape[0] // 2
    return bias[:half], bias[half:]


@operator("RNN")
def rnn(
    node: Node,
    x: Value,
    w: Value,
    r: Value,
    bias: Value = None,
    lengths: Value = None,
    first: Value = None,
) -> tuple[Value, ...]:
    clip = _clipped(node)

    def make(one: _Direction, _position: int, f: list[Activation], _hidden: int) -> Any:
        ours, theirs = _halves(one.bias)

        def step(gates: Any, h: Any) -> tuple[Any, ...]:
            return (f[0](clip(gates + h @ one.r.T + (ours + theirs).astype(h.dtype))),)

        return step

    return _layer(node, x, w, r, bias, lengths, [first], make, ["Tanh"])


@operator("GRU")
def gru(
    node: Node,
    x: Value,
    w: Value,
    r: Value,
    bias: Value = None,
    lengths: Value = None,
    first: Value = None,
) -> tuple[Value, ...]:
    clip = _clipped(node)

    def make(one: _Direction, _position: int, f: list[Activation], hidden: int) -> Any:
        ours, theirs = _halves(one.bias if one.bias is not None else np.zeros(6 * hidden, x.dtype))

        def step(gates: Any, h: Any) -> tuple[Any, ...]:
            given = gates + ours
            gate = given[:, : 2 * hidden] + h @ one.r[: 2 * hidden].T + theirs[: 2 * hidden]
            update, reset = jnp.split(f[0](clip(gate)), 2, 1)
            kernel, rest = one.r[2 * hidden :].T, theirs[2 * hidden :]
            if node.get("linear_before_reset", 0):
                inner = reset * (h @ kernel + rest)
            else:
                inner = (reset * h) @ kernel + rest
            new = f[1](clip(given[:, 2 * hidden :] + inner))
            return ((1 - update) * new + update * h,)

        return step

    return _layer(node, x, w, r, bias, lengths, [first], make, ["Sigmoid", "Tanh"])


@operator("LSTM")
def lstm(
    node: Node,
    x: Value,
    w: Value,
    r: Value,
    bias: Value = None,
    lengths: Value = None,
    first_h: Value = None,
    first_c: Value = None,
    peepholes: Value = None,
) -> tuple[Value, ...]:
    clip = _clipped(node)

    def make(one: _Direction, position: int, f: list[Activation], hidden: int) -> Any:
        ours, theirs = _halves(one.bias)
        peeps = np.zeros(3 * hidden, x.dtype) if peepholes is None else peepholes[position]
        to_i, to_o, to_f = (peeps[k * hidden : (k + 1) * hidden] for k in range(3))

        def step(gates: Any, h: Any, c: Any) -> tuple[Any, ...]:
            every = gates + h @ one.r.T + (ours + theirs).astype(h.dtype)
            i, o, forget, new = jnp.split(every, 4, 1)
            i = f[0](clip(i + to_i * c))
            forget = 1 - i if node.get("input_forget", 0) else f[0](clip(forget + to_f * c))
            c = forget * c + i * f[1](clip(new))
            return f[0](clip(o + to_o * c)) * f[2](c), c

        return step

    usual = ["Sigmoid", "Tanh", "Tanh"]
    return _layer(node, x, w, r, bias, lengths, [first_h, first_c], make, usual)
