"""From what a source says of its tensors to a contract: batch axis, variants, outputs."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from roundhouse_export import dtypes
from roundhouse_export.contract import BATCH, Axis, Contract, TensorSpec, Variant
from roundhouse_export.lengths import padded_letters
from roundhouse_export.model import ImportOptions
from roundhouse_export.refusal import RefusedError

_LETTERS = "stuvwxyzabcdefghijklmopqr"  # n is the batch
_PROBES = (5, 7)
"""Two numbers of rows that no model's own extents are likely to be."""

_MOST_VARIANTS = 64


@dataclass(frozen=True)
class SourceTensor:
    """An input as its source declares it: an extent, a name for one that varies, or nothing."""

    name: str
    dtype: str
    dims: tuple[int | str | None, ...]


def input_specs(
    source: str, tensors: Sequence[SourceTensor], options: ImportOptions
) -> tuple[tuple[TensorSpec, ...], tuple[Variant, ...]]:
    """Returns inputs with axes as the contract has them, and the variants that size the axes.

    A first axis that varies in every input is the batch. Any other axis that varies needs sizes
    from ``options.axes``, by its name in the source or, where it has none, by ``INPUT.POSITION``;
    one size fixes it, unless requests are padded to it. RefusedError names the axis and the option.
    """
    unknown = sorted(set(options.inputs) - {tensor.name for tensor in tensors})
    if unknown:
        names = ", ".join(tensor.name for tensor in tensors)
        raise RefusedError(f"{source}: --input names {unknown}; the model has {names}")
    declared = [_declared(tensor, options) for tensor in tensors]
    batched = bool(declared) and all(
        tensor.dims and not isinstance(tensor.dims[0], int) for tensor in declared
    )
    first = {tensor.dims[0] or f"{tensor.name}.0" for tensor in declared if batched}
    if first & set(options.axes):
        batched = False  # an axis that has been given sizes is none of the batch
    padded = {
        _key(tensor, position)
        for tensor in declared
        if tensor.name in options.pad
        for position, dim in enumerate(tensor.dims)
        if not isinstance(dim, int)
    }
    letters: dict[str, str] = {}
    used: set[str] = set()
    specs = []
    for tensor in declared:
        axes: list[Axis] = []
        for position, dim in enumerate(tensor.dims):
            if batched and position == 0:
                axes.append(BATCH)
            elif isinstance(dim, int):
                axes.append(dim)
            else:
                key = _key(tensor, position)
                axes.append(
                    _sized(source, tensor, position, key, options, letters, used, key in padded)
                )
        specs.append(TensorSpec(tensor.name, tensor.dtype, tuple(axes)))
    unused = sorted(set(options.axes) - used)
    if unused:
        known = sorted(letters) or ["none"]
        raise RefusedError(
            f"{source}: --axis names {unused}, and no input has such an axis; "
            f"axes that vary are: {', '.join(known)}"
        )
    return tuple(specs), _variants(source, letters, options)


def _declared(tensor: SourceTensor, options: ImportOptions) -> SourceTensor:
    given = options.inputs.get(tensor.name)
    if given is None:
        return tensor
    if tensor.dims and len(given.shape) != len(tensor.dims):
        raise RefusedError(
            f"--input {tensor.name}: {len(given.shape)} axes, the model's input has "
            f"{len(tensor.dims)}: {list(tensor.dims)}"
        )
    dims = tuple(None if axis == BATCH and not i else axis for i, axis in enumerate(given.shape))
    return SourceTensor(tensor.name, given.dtype, dims)


def _key(tensor: SourceTensor, position: int) -> str:
    """How ``--axis`` names an axis that varies."""
    dim = tensor.dims[position]
    return dim if isinstance(dim, str) else f"{tensor.name}.{position}"


def _sized(
    source: str,
    tensor: SourceTensor,
    position: int,
    key: str,
    options: ImportOptions,
    letters: dict[str, str],
    used: set[str],
    padded: bool,
) -> Axis:
    sizes = options.axes.get(key)
    if sizes is None:
        raise RefusedError(
            f"{source}: axis {position} of input '{tensor.name}' varies ('{key}'), and programs "
            f"have fixed shapes; give its sizes: --axis {key}=16,64,128"
        )
    used.add(key)
    if len(sizes) == 1 and not padded:
        letters.setdefault(key, "")
        return sizes[0]
    if key not in letters:
        wanted = key if len(key) == 1 and key in _LETTERS else None
        free = (each for each in _LETTERS if each not in letters.values())
        letters[key] = wanted if wanted and wanted not in letters.values() else next(free)
    return letters[key]


def _variants(
    source: str, letters: Mapping[str, str], options: ImportOptions
) -> tuple[Variant, ...]:
    varying = {letter: options.axes[key] for key, letter in letters.items() if letter}
    count = int(np.prod([len(sizes) for sizes in varying.values()]))
    if count > _MOST_VARIANTS:
        raise RefusedError(
            f"{source}: --axis asks for {count} combinations of sizes, each of them a program; "
            f"the limit is {_MOST_VARIANTS}; give fewer sizes"
        )
    if not varying:
        return ()
    combinations = itertools.product(*(sorted(set(sizes)) for sizes in varying.values()))
    return tuple(dict(zip(varying, sizes, strict=True)) for sizes in combinations)


def contract_of(
    source: str,
    inputs: Sequence[TensorSpec],
    variants: Sequence[Variant],
    output_names: Sequence[str] | None,
    forward: Callable[..., Mapping[str, Any]],
    weights: Mapping[str, np.ndarray],
    options: ImportOptions,
    labels: Mapping[str, str] | None = None,
) -> Contract:
    """Returns the contract whose outputs are what ``forward`` returns for these inputs.

    ``forward`` is traced, not run, with two numbers of rows and every variant, to see which axes
    of its outputs follow which of its inputs. ``output_names`` orders and picks outputs; ``labels``
    are asset names by output.
    """
    traced = _traced_variants(inputs, variants, options)
    batched = any(spec.batched for spec in inputs)
    rows = _PROBES if batched else (None,)
    wide = any(dtypes.numpy_dtype(spec.dtype).itemsize == 8 for spec in inputs)
    wide = wide or any(array.dtype.itemsize == 8 for array in weights.values())
    shapes: dict[tuple[int | None, int], Mapping[str, Any]] = {}
    with jax.enable_x64(wide):
        held = {n: jax.ShapeDtypeStruct(a.shape, a.dtype) for n, a in weights.items()}
        for row, (position, variant) in itertools.product(rows, enumerate(traced)):
            given = {
                spec.name: jax.ShapeDtypeStruct(
                    spec.resolve(row, variant), dtypes.numpy_dtype(spec.dtype)
                )
                for spec in inputs
            }
            shapes[row, position] = jax.eval_shape(forward, given, held)
    found = next(iter(shapes.values()))
    missing = sorted(set(output_names or ()) - set(found))
    if missing:
        raise RefusedError(f"{source}: outputs {missing} are not among {sorted(found)}")
    outputs = tuple(
        _output(source, name, shapes, rows, traced, (labels or {}).get(name))
        for name in output_names or found
    )
    try:
        return Contract(
            tuple(inputs),
            outputs,
            tuple(options.batch_sizes) if batched else (),
            tuple(variants),
            options.pad,
            options.trim,
        )
    except ValueError as refusal:
        raise RefusedError(f"{source}: {refusal}") from refusal


def _traced_variants(
    inputs: Sequence[TensorSpec], variants: Sequence[Variant], options: ImportOptions
) -> Sequence[Variant]:
    """Variants, and a shorter one where there is one only: what follows its axes is to be seen."""
    if len(variants) != 1 or not options.pad:
        return variants or ({},)
    padded = padded_letters(inputs, options.pad)
    only = variants[0]
    return (
        only,
        {letter: max(1, size - (letter in padded)) for letter, size in only.items()},
    )


def _output(
    source: str,
    name: str,
    shapes: Mapping[tuple[int | None, int], Mapping[str, Any]],
    rows: Sequence[int | None],
    variants: Sequence[Variant],
    labels: str | None,
) -> TensorSpec:
    first = shapes[rows[0], 0][name]
    if any(len(each[name].shape) != len(first.shape) for each in shapes.values()):
        raise RefusedError(f"{source}: output '{name}' has no fixed number of axes")
    axes: list[Axis] = []
    for axis in range(len(first.shape)):
        seen = {key: each[name].shape[axis] for key, each in shapes.items()}
        axes.append(_axis(source, name, axis, seen, rows, variants))
    return TensorSpec(name, dtypes.token_of(np.dtype(first.dtype)), tuple(axes), labels)


def _axis(
    source: str,
    name: str,
    axis: int,
    seen: Mapping[tuple[int | None, int], int],
    rows: Sequence[int | None],
    variants: Sequence[Variant],
) -> Axis:
    if len(set(seen.values())) == 1:
        return next(iter(seen.values()))
    if axis == 0 and all(size == row for (row, _), size in seen.items()):
        return BATCH
    for letter in variants[0]:
        if all(size == variants[position][letter] for (_, position), size in seen.items()):
            return letter
    follows_batch = any(seen[rows[0], i] != seen[rows[-1], i] for i in range(len(variants)))
    what = "the number of rows" if follows_batch else "an axis of the inputs"
    raise RefusedError(
        f"{source}: axis {axis} of output '{name}' follows {what} but is not the same "
        f"({sorted(set(seen.values()))}), which a bundle cannot say; leave that output out, "
        "or export one batch size and one size of each axis"
    )
