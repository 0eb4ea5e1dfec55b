"""What every sample offers: building its bundle, inputs to try and the framework's answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from roundhouse_export import weights
from roundhouse_export.bundle import Bundle, write_bundle
from roundhouse_export.bundle_v2 import reverse_axes, write_bundle_v2
from roundhouse_export.contract import Contract, TensorSpec
from roundhouse_export.dtypes import numpy_dtype
from roundhouse_export.jax_program import (
    FRAMEWORK,
    PLATFORMS,
    Encoding,
    Forward,
    export_programs,
    run_forward,
)
from roundhouse_export.numerics import Numerics
from roundhouse_export.provenance import provenance

COMMITTED_MODELS = Path(__file__).parents[5] / "examples" / "models"


@dataclass(frozen=True)
class Content:
    """What a sample makes afresh for its bundle; ``facts`` join the provenance."""

    weights: Mapping[str, np.ndarray] = field(default_factory=dict)
    assets: Mapping[str, bytes] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    description_suffix: str = ""


Inputs = dict[str, np.ndarray]
InputMaker = Callable[[np.random.Generator, int, int], Inputs]


@dataclass(frozen=True)
class Sample:
    """One sample bundle.

    ``tolerance`` is the largest relative and absolute difference from the framework's answer
    that a correct server may show. ``companion`` writes files that go with the bundle, outside
    it, into the folder it is given.
    """

    name: str
    description: str
    contract: Contract
    forward: Forward
    make_content: Callable[[], Content] = Content
    make_inputs: InputMaker | None = None
    encoding: Encoding = Encoding.TEXT
    format_version: Literal["3", "2.0"] = "3"
    tolerance: float = 1e-5
    companion: Callable[[Path], None] | None = None

    def build(
        self,
        target_dir: Path,
        encoding: Encoding | None = None,
        platforms: Sequence[str] = PLATFORMS,
        numerics: Numerics = Numerics.AS_WRITTEN,
    ) -> None:
        """Writes the bundle as folder ``target_dir``, replacing what is there.

        ``encoding`` in place of the sample's own.
        """
        content = self.make_content()
        bundle = Bundle(
            contract=self.contract,
            description=self.description + content.description_suffix,
            programs=export_programs(
                self.name,
                self.forward,
                self.contract,
                content.weights,
                encoding or self.encoding,
                platforms,
                numerics,
            ),
            weights=content.weights,
            provenance=provenance(FRAMEWORK, platforms=", ".join(platforms), **content.facts),
            assets=content.assets,
        )
        write = write_bundle if self.format_version == "3" else write_bundle_v2
        write(bundle, target_dir)

    def weights(self, models_dir: Path = COMMITTED_MODELS) -> dict[str, np.ndarray]:
        """Reads the built bundle's weights as ``@main`` takes them, in argument order."""
        stored = weights.decode((models_dir / self.name / weights.FILE_NAME).read_bytes())
        if self.format_version == "3":
            return stored
        return {name: reverse_axes(array) for name, array in stored.items()}

    def reference(self, inputs: Inputs, models_dir: Path = COMMITTED_MODELS) -> Inputs:
        """Returns JAX's outputs by name, for any number of rows and any variable extents."""
        return run_forward(self.forward, self.contract, inputs, self.weights(models_dir))

    def example_inputs(self, rng: np.random.Generator, rows: int, variant: int = 0) -> Inputs:
        """Returns inputs by name; ``rows`` is ignored by a sample without a batch axis."""
        if self.make_inputs is not None:
            return self.make_inputs(rng, rows, variant)
        sizes = self.contract.variants[variant] if self.contract.variants else {}
        return {t.name: random_tensor(rng, t, t.resolve(rows, sizes)) for t in self.contract.inputs}


def random_tensor(
    rng: np.random.Generator, tensor: TensorSpec, shape: tuple[int, ...]
) -> np.ndarray:
    """Returns standard normal floats, small integers, or booleans, in the tensor's dtype."""
    dtype = numpy_dtype(tensor.dtype)
    if tensor.dtype == "bool":
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        return rng.integers(0 if dtype.kind == "u" else -100, 100, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)
