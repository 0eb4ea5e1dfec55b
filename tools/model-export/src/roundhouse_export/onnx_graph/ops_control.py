"""Branches and loops. Those that can be decided at export leave no trace in the program."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from roundhouse_export.onnx_graph.arrays import UnknownAtExportError, is_known
from roundhouse_export.onnx_graph.registry import Node, Value, operator

_UNROLLED = 64
"""Loops of at most so many steps are written out, so that what hangs on their counter is known."""

RunGraph = Callable[..., list[Value]]


def _runner(node: Node) -> RunGraph:
    if node.run_graph is None:
        raise node.refuse("has no graph to run")
    return node.run_graph


@operator("If")
def if_(node: Node, condition: Value) -> tuple[Value, ...]:
    run = _runner(node)
    branches = [node.get("then_branch"), node.get("else_branch")]
    if is_known(condition):
        return tuple(run(branches[0 if bool(np.reshape(condition, ())) else 1]))

    def branch(graph: Any) -> Callable[[], tuple[Any, ...]]:
        return lambda: tuple(jnp.asarray(each) for each in run(graph))

    ours, theirs = (jax.eval_shape(branch(graph)) for graph in branches)
    for name, one, other in zip(node.outputs, ours, theirs, strict=True):
        if (one.shape, one.dtype) != (other.shape, other.dtype):
            raise node.refuse(
                f"'{name}' is {one.dtype}{list(one.shape)} in one branch and "
                f"{other.dtype}{list(other.shape)} in the other, and which one runs depends on "
                "the data; make both of one shape"
            )
    flag = jnp.reshape(condition, ())
    return tuple(lax.cond(flag, branch(branches[0]), branch(branches[1])))


@operator("Loop")
def loop(node: Node, trips: Value, condition: Value, *carried: Value) -> tuple[Value, ...]:
    if condition is not None and is_known(condition) and not bool(np.reshape(condition, ())):
        trips = np.asarray(0)
    count = None if trips is None or not is_known(trips) else int(np.reshape(trips, ()))
    scans = len(node.outputs) - len(carried)
    starts = condition is None or is_known(condition)
    if count is not None and starts and count <= _UNROLLED:
        written_out = _unrolled(node, count, carried)
        if written_out is not None:
            return written_out
    if count is not None and starts:
        counted = _counted(node, count, carried)
        if counted is not None:
            return counted
    if scans:
        refusal = node.refuse(
            "collects an output per step, and how many steps there are depends on the data; "
            "give the loop a fixed number of steps"
        )
        raise UnknownAtExportError(str(refusal))
    return _while(node, trips, condition, carried)


def _unrolled(node: Node, count: int, carried: Sequence[Value]) -> tuple[Value, ...] | None:
    """Returns None when a step makes a condition that is not known."""
    run, body = _runner(node), node.get("body")
    held = list(carried)
    collected: list[list[Value]] = [[] for _ in range(len(node.outputs) - len(carried))]
    for step in range(count):
        goes_on, *results = run(body, np.asarray(step, np.int64), np.asarray(True), *held)
        if not is_known(goes_on):
            return None
        held = results[: len(carried)]
        for kept, each in zip(collected, results[len(carried) :], strict=True):
            kept.append(each)
        if not bool(np.reshape(goes_on, ())):
            break
    if not all(collected) and collected:
        raise node.refuse("runs no step, so its collected outputs have no shape")
    return (*held, *(_stacked(each) for each in collected))


def _stacked(values: Sequence[Value]) -> Value:
    return np.stack(values) if is_known(*values) else jnp.stack(values)


def _counted(node: Node, count: int, carried: Sequence[Value]) -> tuple[Value, ...] | None:
    """Returns None when the condition that a step makes is anything but what it was given."""
    run, body = _runner(node), node.get("body")
    constant = []

    def step(held: tuple[Any, ...], index: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        goes_on, *results = run(body, index, np.asarray(True), *held)
        constant.append(is_known(goes_on) and bool(np.reshape(goes_on, ())))
        arrays = tuple(jnp.asarray(each) for each in results)
        return arrays[: len(carried)], arrays[len(carried) :]

    held = tuple(jnp.asarray(each) for each in carried)
    steps = jnp.arange(count, dtype=jnp.int64)
    try:
        held, collected = lax.scan(step, held, steps)
    except UnknownAtExportError:
        return _unrolled(node, count, carried)
    return (*held, *collected) if all(constant) else None


def _while(
    node: Node, trips: Value, condition: Value, carried: Sequence[Value]
) -> tuple[Value, ...]:
    run, body = _runner(node), node.get("body")
    limit = jnp.asarray(np.iinfo(np.int64).max if trips is None else trips, jnp.int64)
    first = jnp.reshape(jnp.asarray(True if condition is None else condition), ())

    def goes_on(state: tuple[Any, ...]) -> Any:
        return state[1] & (state[0] < limit.reshape(()))

    def step(state: tuple[Any, ...]) -> tuple[Any, ...]:
        index, flag, *held = state
        flag, *results = run(body, index, flag, *held)
        return (
            index + 1,
            jnp.reshape(jnp.asarray(flag), ()),
            *(jnp.asarray(each) for each in results),
        )

    start = (jnp.asarray(0, jnp.int64), first, *(jnp.asarray(each) for each in carried))
    return tuple(lax.while_loop(goes_on, step, start)[2:])


@operator("Scan", since=9)
def scan(node: Node, *values: Value) -> tuple[Value, ...]:
    run, body = _runner(node), node.get("body")
    scanned = node.get("num_scan_inputs")
    states, sequences = values[: len(values) - scanned], values[len(values) - scanned :]
    axes = node.get("scan_input_axes") or [0] * scanned
    backwards = node.get("scan_input_directions") or [0] * scanned
    moved = tuple(
        jnp.flip(jnp.moveaxis(each, axis, 0), 0) if turned else jnp.moveaxis(each, axis, 0)
        for each, axis, turned in zip(sequences, axes, backwards, strict=True)
    )

    def step(held: tuple[Any, ...], parts: tuple[Any, ...]) -> tuple[Any, Any]:
        results = tuple(jnp.asarray(each) for each in run(body, *held, *parts))
        return results[: len(states)], results[len(states) :]

    held, collected = lax.scan(step, tuple(jnp.asarray(each) for each in states), moved)
    out_axes = node.get("scan_output_axes") or [0] * len(collected)
    out_turned = node.get("scan_output_directions") or [0] * len(collected)
    outputs = (
        jnp.moveaxis(jnp.flip(each, 0) if turned else each, 0, axis)
        for each, axis, turned in zip(collected, out_axes, out_turned, strict=True)
    )
    return (*held, *outputs)
