"""How near a bundle's numbers are to those of what it was made from."""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from roundhouse_export import dtypes, padded_requests
from roundhouse_export.contract import ProgramKey, TensorSpec, Variant
from roundhouse_export.program_runner import Executable
from roundhouse_export.refusal import RefusedError
from roundhouse_export.stored import StoredBundle
from roundhouse_export.table import rendered as table

SEED = 20
DENORMAL = "denormal"
PADDED = "padded"
"""How what is found of a padded request begins; the request's sizes follow."""

_LARGE = 1e4
# By how often as much as it moves by itself an output may differ, up to this part of its size.
_MOVES, _MOST_MOVED = 8, 0.01
# Of the last place of 1: how exact frameworks are where a sigmoid or a softmax is nearly 0.
_LEAST_UNITS = 4
# Kinds of inputs for which every output must be near.
_ORDINARY = ("random", "uniform", PADDED)
_BITS = range(2)
_SMALL = range(10)
_UNITS = {"f64": 4096, "f32": 1024, "f16": 8, "bf16": 8}
"""Of the last place of a dtype, by which one product may differ."""

Answers = Callable[[Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]


@dataclass(frozen=True)
class Finding:
    """One output of one program for one kind of inputs. ``worst`` is the element that is furthest
    off, by its coordinates, with what was got there and what was wanted.

    ``is_unsteady`` is what is not near, for inputs beyond what models know, where the answer moves
    as far when weights do by their last place: no two frameworks agree there.
    """

    program: str
    inputs: str
    output: str
    is_near: bool
    is_unsteady: bool = False
    largest_difference: float = 0.0
    tolerance: float = 0.0
    worst: tuple[int, ...] = ()
    got: float = 0.0
    wanted: float = 0.0
    problem: str = ""

    @property
    def is_wrong(self) -> bool:
        return not self.is_near and not self.is_unsteady

    @property
    def is_of_padded(self) -> bool:
        return self.inputs.startswith(PADDED)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def against_reference(
    folder: Path, reference: Answers, plugin: Path | None = None
) -> list[Finding]:
    """Compares every program of a bundle, for every kind of inputs, with what was wanted.

    Requests that are padded are compared with what is wanted of them as they are.
    """
    bundle = StoredBundle(folder)
    findings = []
    for key, name in bundle.files():
        bounds = bundle.index_bounds(key)
        chain = tolerance_of(bundle.products(key))
        program = _Program(name, bundle, bundle.executable_of(name, plugin), chain)
        for kind, inputs in _kinds(bundle, key, bounds):
            right = [reference(inputs)]
            if kind == DENORMAL:  # processors may take them for zeros, and XLA has them do so
                right.append(reference({name: np.zeros_like(x) for name, x in inputs.items()}))
            findings += program.findings(kind, inputs, right)
        for sizes, asked, wanted in _padded_requests(bundle, key, bounds, reference):
            kind = f"{PADDED} {padded_requests.described(sizes)}"
            whole = padded_requests.padded(bundle.contract, key, asked)
            findings += program.findings(kind, whole, [wanted], sizes)
    return findings


def _padded_requests(
    bundle: StoredBundle, key: ProgramKey, bounds: Mapping[str, int], reference: Answers
) -> Iterator[tuple[Variant, Mapping[str, np.ndarray], Mapping[str, np.ndarray]]]:
    """Sizes, inputs and right outputs of requests that are padded.

    A framework may fail for the shortest, as a convolution does for fewer than its kernel;
    RefusedError when it fails for all.
    """
    made = 0
    failures: list[tuple[Variant, Exception]] = []
    for sizes, inputs in padded_requests.requests(bundle.contract, key, bounds, SEED):
        try:
            wanted = reference(inputs)
        except Exception as failure:  # of any framework
            failures.append((sizes, failure))
        else:
            made += 1
            yield sizes, inputs, wanted
    if failures and not made:
        last, reason = failures[-1]
        first = (str(reason).splitlines() or [type(reason).__name__])[0]
        raise RefusedError(
            f"a request of {padded_requests.described(last)}, which is to be padded, fails where "
            f"the right answer is to come from: {first}"
        ) from reason


class _Program:
    """A program beside its reference. How large outputs usually are is what the first kind of
    inputs makes them; lists are by output."""

    def __init__(
        self, name: str, bundle: StoredBundle, executable: Executable, chain: float
    ) -> None:
        self._name, self._bundle, self._executable = name, bundle, executable
        self._chain = chain
        self._usual: list[float] = []

    def findings(
        self,
        kind: str,
        inputs: Mapping[str, np.ndarray],
        right: list[Mapping[str, np.ndarray]],
        sizes: Variant | None = None,
    ) -> list[Finding]:
        """``sizes`` are those of a request that was padded, to which outputs are cut back."""
        if not self._usual:
            names = self._bundle.output_names
            self._usual = [scale_of(np.asarray(right[0][name])) for name in names]
        right = [self._wanted(each, sizes) for each in right]
        arguments = self._bundle.arguments(inputs)
        got = self._run(arguments, sizes)
        found = self._nearest(kind, got, right, [0.0] * len(got))
        if not all(each.is_near for each in found):
            first = len(inputs)
            nudged = [*arguments[:first], *map(_nudged, arguments[first:])]
            moved = [_distance(a, b) for a, b in zip(self._run(nudged, sizes), got, strict=True)]
            found = self._nearest(kind, got, right, moved)
        return found

    def _run(self, arguments: list[np.ndarray], sizes: Variant | None) -> list[np.ndarray]:
        contract = self._bundle.contract
        results = self._executable.run(arguments)
        if sizes is None:
            return results
        return [
            padded_requests.cut_back(contract, spec, each, sizes)
            for spec, each in zip(contract.outputs, results, strict=True)
        ]

    def _wanted(
        self, answer: Mapping[str, np.ndarray], sizes: Variant | None
    ) -> Mapping[str, np.ndarray]:
        """A server answers with all of an output that its manifest does not have cut back."""
        contract = self._bundle.contract
        if sizes is None:
            return answer
        whole = [spec for spec in contract.outputs if spec.name not in contract.trim]
        return {
            **answer,
            **{
                spec.name: padded_requests.cut_back(
                    contract, spec, np.asarray(answer[spec.name]), sizes
                )
                for spec in whole
            },
        }

    def _nearest(
        self,
        kind: str,
        got: list[np.ndarray],
        right: list[Mapping[str, np.ndarray]],
        moved: list[float],
    ) -> list[Finding]:
        """For each output, how far it is from the nearest of the right ones."""
        found = []
        outputs = self._bundle.contract.outputs
        for spec, mine, usual, by in zip(outputs, got, self._usual, moved, strict=True):
            each = (
                compared(self._name, kind, spec, mine, one[spec.name], self._chain, usual, by)
                for one in right
            )
            found.append(min(each, key=_excess))
        return found


def _nudged(array: np.ndarray) -> np.ndarray:
    """The next number, up or down by chance, in the place of each."""
    if array.dtype not in (np.float32, np.float64):
        return array
    up = np.random.default_rng(SEED).random(array.shape) < 0.5
    return np.nextafter(array, np.where(up, np.inf, -np.inf).astype(array.dtype))


def _distance(one: np.ndarray, other: np.ndarray) -> float:
    if one.dtype.kind in "iub":
        return 0.0
    with np.errstate(invalid="ignore"):
        return scale_of(one.astype(np.float64) - other.astype(np.float64))


def tolerance_of(products: int) -> float:
    """How much more than one product a chain of products may differ by."""
    return math.sqrt(1 + products)


def kinds_of_inputs(
    bundle: StoredBundle, key: ProgramKey
) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    """Random inputs twice, zeros, large ones and denormal ones, each with the program's shapes.

    Integers that index something are below how many of that there are. Others may be masks: they
    are 0 and 1 once more, for ``bits``.
    """
    return _kinds(bundle, key, bundle.index_bounds(key))


def _kinds(
    bundle: StoredBundle, key: ProgramKey, bounds: Mapping[str, int]
) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    rng = np.random.default_rng(SEED)
    inputs = bundle.contract.inputs
    ranges = {spec: _range(spec, bounds.get(spec.name)) for spec in inputs}
    bits = {
        spec: each if spec.name in bounds else range(min(2, each.stop))
        for spec, each in ranges.items()
    }
    makers: dict[str, Callable[[TensorSpec, tuple[int, ...]], np.ndarray]] = {
        "random": lambda spec, shape: _random(rng, spec, shape, 1.0, ranges[spec]),
        "uniform": lambda spec, shape: _uniform(rng, spec, shape, bits[spec]),
        "zeros": lambda spec, shape: np.zeros(shape, dtypes.numpy_dtype(spec.dtype)),
    }
    if bits != ranges:
        makers["bits"] = lambda spec, shape: _random(rng, spec, shape, 1.0, bits[spec])
    if any(dtypes.numpy_dtype(spec.dtype).kind == "f" for spec in inputs):
        makers["large"] = lambda spec, shape: _random(rng, spec, shape, _LARGE, ranges[spec])
        makers[DENORMAL] = _denormal
    shapes = {spec: spec.resolve(key.batch, bundle.contract.variant(key)) for spec in inputs}
    for kind, make in makers.items():
        yield kind, {spec.name: make(spec, shape) for spec, shape in shapes.items()}


def _range(spec: TensorSpec, bound: int | None) -> range:
    """Of the integers that an input is given; ``bound`` is how many places they index."""
    dtype = dtypes.numpy_dtype(spec.dtype)
    if dtype.kind not in "iu":
        return _BITS
    lowest, highest = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    if bound is not None:
        return range(min(bound, highest + 1))
    return range(lowest, highest + 1) if dtype.itemsize == 1 else _SMALL


def _random(
    rng: np.random.Generator,
    spec: TensorSpec,
    shape: tuple[int, ...],
    scale: float,
    whole: range,
) -> np.ndarray:
    dtype = dtypes.numpy_dtype(spec.dtype)
    if dtype.kind in "iub":
        return rng.integers(whole.start, whole.stop, shape).astype(dtype)
    scale = min(scale, 100.0) if dtype.itemsize < 4 else scale
    return (scale * rng.standard_normal(shape)).astype(dtype)


def _uniform(
    rng: np.random.Generator, spec: TensorSpec, shape: tuple[int, ...], whole: range
) -> np.ndarray:
    dtype = dtypes.numpy_dtype(spec.dtype)
    if dtype.kind in "iub":
        return np.full(shape, min(1, whole.stop - 1), dtype)
    return rng.random(shape).astype(dtype)


def _denormal(spec: TensorSpec, shape: tuple[int, ...]) -> np.ndarray:
    dtype = dtypes.numpy_dtype(spec.dtype)
    if dtype.kind in "iub":
        return np.zeros(shape, dtype)
    return np.full(shape, np.finfo(dtype).tiny / 4 if dtype.kind == "f" else 0, dtype)


def compared(
    program: str,
    kind: str,
    spec: TensorSpec,
    got: np.ndarray,
    wanted: np.ndarray,
    chain: float,
    usual: float = 0.0,
    moved: float = 0.0,
) -> Finding:
    """Compares one output; integers and booleans must be equal.

    ``usual`` is how large it is for random inputs: a sigmoid that is nearly 0 everywhere for these
    is not held to its last place, at which frameworks cut it off. ``moved`` is how far the answer
    moves when weights do by their last place: rounding within a program moves it as well.
    """
    got, wanted = np.asarray(got), np.asarray(wanted)

    if got.shape != wanted.shape:
        problem = f"shape {list(got.shape)}, wanted {list(wanted.shape)}"
        return Finding(
            program, kind, spec.name, False, largest_difference=math.inf, problem=problem
        )
    if got.size == 0:
        return Finding(program, kind, spec.name, True)
    a, b = got.astype(np.float64), wanted.astype(np.float64)
    odd = np.isfinite(a) != np.isfinite(b)
    with np.errstate(invalid="ignore"):
        difference = np.where(a == b, 0.0, np.abs(a - b))
    difference = np.where(np.isnan(a) & np.isnan(b), 0.0, difference)
    difference = np.where(odd, math.inf, np.nan_to_num(difference, nan=math.inf))
    worst = np.unravel_index(int(np.argmax(difference)), difference.shape)
    units = _UNITS.get(spec.dtype, 0)
    epsilon = float(np.finfo(got.dtype).eps) if spec.dtype in ("f64", "f32", "f16") else 2**-7
    scale = max(scale_of(b), usual)
    # Devices may take for zero what is smaller than the smallest normal number.
    tiny = float(ml_dtypes.finfo(got.dtype).tiny) if units else 0.0
    least = _LEAST_UNITS * epsilon if units else 0.0
    unsteady = _MOVES * chain * moved if units else 0.0
    allowed = max(units * max(epsilon * chain * scale, tiny), least)
    allowed += min(unsteady, _MOST_MOVED * scale)
    is_near = bool(difference[worst] <= allowed)
    return Finding(
        program,
        kind,
        spec.name,
        is_near,
        not is_near and not kind.startswith(_ORDINARY) and bool(difference[worst] <= unsteady),
        largest_difference=float(difference[worst]),
        tolerance=allowed,
        worst=tuple(int(each) for each in worst),
        got=float(a[worst]),
        wanted=float(b[worst]),
    )


def scale_of(array: np.ndarray) -> float:
    """The largest value that is a number."""
    values = array.astype(np.float64)
    return float(np.max(np.abs(values), where=np.isfinite(values), initial=0.0))


def rendered(findings: list[Finding]) -> str:
    """One line per program and output, for the kind of inputs that is furthest off."""
    worst: dict[tuple[str, str], Finding] = {}
    for each in findings:
        known = worst.get((each.program, each.output))
        if known is None or _excess(each) > _excess(known):
            worst[each.program, each.output] = each
    rows = [
        (
            each.program,
            each.output,
            "WRONG" if each.is_wrong else "unsteady" if each.is_unsteady else "near",
            each.largest_difference,
            each.tolerance,
            each.inputs,
            each.problem
            or f"[{','.join(map(str, each.worst))}] is {each.got:.6g}, wanted {each.wanted:.6g}",
        )
        for each in worst.values()
    ]
    heads = ("program", "output", "", "difference", "allowed", "inputs", "furthest off")
    text = table(heads, rows)
    if any(each.is_unsteady for each in worst.values()):
        text += (
            "\nunsteady: for such inputs the answer moves as far when each weight moves by its "
            "last place, so frameworks differ there"
        )
    return text


def _excess(finding: Finding) -> tuple[bool, bool, float]:
    excess = finding.largest_difference / (finding.tolerance or 1.0)
    return finding.is_wrong, not finding.is_near, excess


def padding_refusal(findings: list[Finding]) -> str:
    """Says which output looks at padding, and how far that moves it; empty where none does.

    What is wrong without padding too says nothing of it.
    """
    whole = {(e.program, e.output) for e in findings if e.is_wrong and not e.is_of_padded}
    off = [
        each
        for each in findings
        if each.is_wrong and each.is_of_padded and (each.program, each.output) not in whole
    ]
    if not off:
        return ""
    worst = max(off, key=lambda each: each.largest_difference)
    where = worst.problem or f"at [{','.join(map(str, worst.worst))}]"
    return (
        f"output '{worst.output}' of {worst.program} looks at padding: for a request of "
        f"{worst.inputs.removeprefix(PADDED).strip()} it is off by up to "
        f"{worst.largest_difference:.3g} ({where}), where {worst.tolerance:.3g} is to be expected; "
        "have the model leave out what is padded, pad with what it leaves out, or give no --pad"
    )


def to_json(findings: list[Finding]) -> str:
    return json.dumps([each.to_json() for each in findings])
