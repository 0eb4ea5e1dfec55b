"""Requests that are shorter than the program they run in, as a server pads and cuts them back."""

from collections.abc import Iterator, Mapping

import numpy as np

from roundhouse_export import dtypes
from roundhouse_export.contract import Contract, ProgramKey, TensorSpec, Variant

_MASK = "mask"
"""In the name of an input that says which positions count."""

_SMALL = range(1, 10)


def shorter_sizes(contract: Contract, key: ProgramKey) -> list[Variant]:
    """Sizes of requests that run in a program although they are shorter: the shortest for which
    no variant is smaller, and one half way. Empty where no request is padded."""
    variant = contract.variant(key)
    shortest = {letter: _shortest(contract, letter, variant) for letter in contract.padded_letters}
    middle = {letter: (size + variant[letter]) // 2 for letter, size in shortest.items()}
    found: list[Variant] = []
    for sizes in ({**variant, **shortest}, {**variant, **middle}):
        if sizes not in (variant, *found):
            found.append(sizes)
    return found


def _shortest(contract: Contract, letter: str, variant: Variant) -> int:
    """One more than the next smaller size, among variants that differ in nothing else."""
    smaller = [
        each[letter]
        for each in contract.variants
        if each[letter] < variant[letter] and {**each, letter: 0} == {**variant, letter: 0}
    ]
    return max(smaller, default=0) + 1


def requests(
    contract: Contract, key: ProgramKey, bounds: Mapping[str, int], seed: int
) -> Iterator[tuple[Variant, dict[str, np.ndarray]]]:
    """Sizes and inputs of requests that are padded; ``bounds`` are of integers that are indices.

    Masks let all positions count, and no other integer is what it is padded with: real requests
    are so, and a row in which nothing counts is the same in no two lengths.
    """
    rng = np.random.default_rng(seed)
    for position, sizes in enumerate(shorter_sizes(contract, key)):
        made = {}
        for spec in contract.inputs:
            shape = spec.resolve(key.batch, sizes)
            padding = contract.pad.get(spec.name, 0)
            small = range(1, 2) if position == 0 else _SMALL  # a mask may have any name
            made[spec.name] = _values(rng, spec, shape, padding, bounds.get(spec.name), small)
        yield sizes, made


def _values(
    rng: np.random.Generator,
    spec: TensorSpec,
    shape: tuple[int, ...],
    padding: float,
    bound: int | None,
    small: range,
) -> np.ndarray:
    dtype = dtypes.numpy_dtype(spec.dtype)
    if spec.dtype == "bool" or _MASK in spec.name.lower():
        return np.full(shape, 1 if padding == 0 else 0, dtype)
    if dtype.kind not in "iu":
        return rng.standard_normal(shape).astype(dtype)
    if bound is None:
        numbers = rng.integers(small.start, small.stop, shape)
        return np.where(numbers == padding, 0, numbers).astype(dtype)
    numbers = rng.integers(0, min(bound, int(np.iinfo(dtype).max) + 1), shape)
    if bound > 2:
        numbers = np.where(numbers == padding, (numbers + 1) % bound, numbers)
    return numbers.astype(dtype)


def padded(
    contract: Contract, key: ProgramKey, inputs: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Inputs with the program's shapes."""
    made = dict(inputs)
    for spec in contract.inputs:
        if spec.name in contract.pad:
            given = inputs[spec.name]
            shape = spec.resolve(key.batch, contract.variant(key))
            made[spec.name] = np.full(shape, contract.pad[spec.name], given.dtype)
            made[spec.name][tuple(slice(size) for size in given.shape)] = given
    return made


def cut_back(contract: Contract, spec: TensorSpec, array: np.ndarray, sizes: Variant) -> np.ndarray:
    """An output without what stands for padding."""
    letters = contract.padded_letters
    return array[
        tuple(slice(sizes[axis]) if axis in letters else slice(None) for axis in spec.shape)
    ]


def described(sizes: Variant) -> str:
    return ",".join(f"{letter}={size}" for letter, size in sorted(sizes.items()))
