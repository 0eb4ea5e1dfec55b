"""What a model takes and returns, and which programs that asks for."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from roundhouse_export import dtypes, lengths

BATCH = "n"

CPU = "cpu"
KNOWN_PLATFORMS = (CPU, "cuda", "rocm", "tpu")

Axis = int | str
Variant = Mapping[str, int]


@dataclass(frozen=True)
class TensorSpec:
    """A named tensor, axes row-major as on the wire.

    An axis is a fixed extent (0 or more), ``n`` for the batch, or another lower-case letter for
    an extent that every variant fixes. ``labels`` names an asset with one class label per line.
    """

    name: str
    dtype: str
    shape: tuple[Axis, ...]
    labels: str | None = None

    def __post_init__(self) -> None:
        dtypes.numpy_dtype(self.dtype)
        for position, axis in enumerate(self.shape):
            if isinstance(axis, bool) or not isinstance(axis, int | str):
                raise ValueError(
                    f"tensor '{self.name}' axis {position} is {axis!r}; an axis is a whole number, "
                    f"'{BATCH}' for the batch, or another letter for an extent that varies"
                )
            if isinstance(axis, str) and not (len(axis) == 1 and "a" <= axis <= "z"):
                raise ValueError(f"tensor '{self.name}' axis '{axis}' must be one letter a to z")
            if isinstance(axis, int) and axis < 0:
                raise ValueError(f"tensor '{self.name}' has extent {axis}; extents are 0 or more")
        if BATCH in self.shape[1:]:
            raise ValueError(
                f"tensor '{self.name}' has shape {list(self.shape)}; "
                "the batch axis n may appear once, and first"
            )

    @property
    def batched(self) -> bool:
        return self.shape[:1] == (BATCH,)

    @property
    def variable_letters(self) -> set[str]:
        return {axis for axis in self.shape if isinstance(axis, str) and axis != BATCH}

    def resolve(self, batch: int | None, variant: Variant) -> tuple[int, ...]:
        """Returns the shape in the program compiled for ``batch`` rows and one variant."""
        sizes = {**variant, **({} if batch is None else {BATCH: batch})}
        return tuple(axis if isinstance(axis, int) else sizes[axis] for axis in self.shape)


@dataclass(frozen=True)
class ProgramKey:
    """Which program of a model: a position in ``variants`` and a batch size, where it has them."""

    variant: int | None
    batch: int | None

    @property
    def file_name(self) -> str:
        variant = "" if self.variant is None else f".v{self.variant}"
        batch = "" if self.batch is None else f".b{self.batch}"
        return f"model{variant}{batch}.mlir"

    def platform_file_name(self, platform: str) -> str:
        """Names the program that takes this one's place on one platform."""
        return f"{self.file_name.removesuffix('.mlir')}.{platform}.mlir"


@dataclass(frozen=True)
class Contract:
    """Inputs and outputs of ``@main`` in order, batch sizes and shape variants to compile.

    ``pad`` has what an input of a request that is shorter than a variant is padded with, at the
    end of its variable axes; ``trim`` names outputs that are cut back to the request's sizes.
    """

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    batch_sizes: tuple[int, ...] = ()
    variants: tuple[Variant, ...] = ()
    pad: Mapping[str, int | float] = field(default_factory=dict)
    trim: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _require_unique("inputs", self.inputs)
        _require_unique("outputs", self.outputs)
        self._require_batch_sizes()
        self._require_variants()
        problems = lengths.length_problems(self.inputs, self.outputs, self.pad, self.trim)
        if problems:
            raise ValueError("; ".join(problems))

    @property
    def padded_letters(self) -> set[str]:
        """Axes in which a request may be shorter than the variant that it runs in."""
        return lengths.padded_letters(self.inputs, self.pad)

    @property
    def batched(self) -> bool:
        return any(tensor.batched for tensor in self.inputs)

    @property
    def needs_64_bit(self) -> bool:
        tensors = self.inputs + self.outputs
        return any(dtypes.numpy_dtype(t.dtype).itemsize == 8 for t in tensors)

    def variant(self, key: ProgramKey) -> Variant:
        return {} if key.variant is None else self.variants[key.variant]

    def programs(self) -> Iterator[ProgramKey]:
        """Yields every program the bundle must hold."""
        for variant in range(len(self.variants)) if self.variants else (None,):
            for batch in self.batch_sizes or (None,):
                yield ProgramKey(variant, batch)

    def _require_batch_sizes(self) -> None:
        unbatched = [tensor.name for tensor in self.inputs if not tensor.batched]
        if self.batched and unbatched:
            raise ValueError(
                f"inputs {unbatched} have no batch axis n but others have; give it to all or none"
            )
        if any(size < 1 for size in self.batch_sizes):
            raise ValueError(f"batch sizes {self.batch_sizes} must all be 1 or more")
        if list(self.batch_sizes) != sorted(set(self.batch_sizes)):
            raise ValueError(f"batch sizes {self.batch_sizes} must ascend without repeats")
        if self.batched != bool(self.batch_sizes):
            raise ValueError(
                f"inputs {'have' if self.batched else 'lack'} a batch axis but batch sizes are "
                f"{self.batch_sizes}; programs are static, so one needs the other"
            )
        if not self.batched and any(tensor.batched for tensor in self.outputs):
            raise ValueError("an output has a batch axis n but no input has")

    def _require_variants(self) -> None:
        letters = set().union(*(tensor.variable_letters for tensor in self.inputs))
        for tensor in self.outputs:
            if not tensor.variable_letters <= letters:
                raise ValueError(
                    f"output '{tensor.name}' uses axes {sorted(tensor.variable_letters)}; "
                    f"inputs give only {sorted(letters)}"
                )
        if letters and not self.variants:
            raise ValueError(f"axes {sorted(letters)} are variable; list variants that size them")
        for position, variant in enumerate(self.variants):
            if set(variant) != letters or any(size < 1 for size in variant.values()):
                raise ValueError(
                    f"variant {position} is {dict(variant)}; it must give each of "
                    f"{sorted(letters)} a size of 1 or more and nothing else"
                )
            if variant in self.variants[:position]:
                raise ValueError(f"variant {position} {dict(variant)} repeats an earlier one")


def _require_unique(section: str, tensors: tuple[TensorSpec, ...]) -> None:
    repeated = [name for name, count in Counter(t.name for t in tensors).items() if count > 1]
    if repeated:
        raise ValueError(f"{section} name {repeated} more than once")
