"""Which function computes which operator, from which version of its set on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from roundhouse_export.refusal import RefusedError

ML = "ai.onnx.ml"
Value = Any
"""A numpy array while it is known at export (shapes, constants), else an array of JAX; None for an
optional input that is left out."""


@dataclass(frozen=True)
class Node:
    """One node as its operator sees it. ``version`` is that of its operator set in the model."""

    op: str
    name: str
    domain: str
    version: int
    attributes: Mapping[str, Any]
    outputs: Sequence[str] = field(default_factory=tuple)
    run_graph: Callable[..., list[Value]] | None = None
    """Runs a graph attribute: ``run_graph(graph, *inputs)``, with the values around it in sight."""

    def get(self, attribute: str, default: Any = None) -> Any:
        """An attribute; texts are ``str``, tensors numpy arrays, lists are lists."""
        return self.attributes.get(attribute, default)

    def refuse(self, why: str) -> RefusedError:
        """For ``raise node.refuse("...")``; the message names the node and its operator."""
        where = f"node '{self.name}'" if self.name else f"the node that makes {list(self.outputs)}"
        return RefusedError(f"{where}: operator {self.op}: {why}")


Operator = Callable[..., Value | tuple[Value, ...]]
"""``operator(node, *inputs)``; returns one value, or a tuple of as many as the node has outputs."""

_OPERATORS: dict[tuple[str, str], list[tuple[int, Operator]]] = {}
_REFUSED: dict[tuple[str, str], str] = {}


def operator(*names: str, since: int = 1, domain: str = "") -> Callable[[Operator], Operator]:
    """Registers a function for operators, from a version of their set on until a later one."""

    def register(function: Operator) -> Operator:
        for name in names:
            known = _OPERATORS.setdefault((domain, name), [])
            known.append((since, function))
            known.sort(key=lambda entry: entry[0])
        return function

    return register


def refused(*names: str, why: str, domain: str = "") -> None:
    """Registers operators that no program can have, so that a person is told why."""

    def refuse(node: Node, *_: Value) -> Value:
        raise node.refuse(why)

    operator(*names, domain=domain)(refuse)
    _REFUSED.update({(domain, name): why for name in names})


def refusals(domain: str = "") -> dict[str, str]:
    """Why operators of a domain are refused whatever they are given, by name."""
    return {name: why for (at, name), why in _REFUSED.items() if at == domain}


def find(node: Node) -> Operator:
    """Returns what computes a node; RefusedError when nothing does."""
    domain = "" if node.domain == "ai.onnx" else node.domain
    known = [
        function
        for since, function in _OPERATORS.get((domain, node.op), ())
        if since <= node.version
    ]
    if not known:
        place = f" of {node.domain}" if node.domain else ""
        raise node.refuse(f"version {node.version}{place} is not known")
    return known[-1]


def is_known(domain: str, name: str) -> bool:
    return (domain, name) in _OPERATORS


def known_operators(domain: str = "") -> list[str]:
    return sorted(name for at, name in _OPERATORS if at == domain)
