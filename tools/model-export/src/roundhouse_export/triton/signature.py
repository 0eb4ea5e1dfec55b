"""What is known of a model's inputs and outputs before it is loaded."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class SignatureTensor:
    """An extent, a name for one that varies, or None for one that varies without a name. ``dims``
    is None where the file does not even say how many axes there are."""

    name: str
    dtype: str
    dims: tuple[int | str | None, ...] | None

    def axis_key(self, position: int) -> str:
        """How ``--axis`` names an axis that varies."""
        dim = self.dims[position] if self.dims is not None else None
        return dim if isinstance(dim, str) else f"{self.name}.{position}"


@dataclass(frozen=True)
class Signature:
    """``filled`` are inputs that the file has a value for: nobody needs to send them. ``outputs``
    are empty where only the program itself knows them."""

    file: Path
    inputs: tuple[SignatureTensor, ...]
    outputs: tuple[SignatureTensor, ...]
    filled: frozenset[str]

    @property
    def axis_keys(self) -> set[str]:
        return {
            each.axis_key(position)
            for each in self.inputs
            for position, dim in enumerate(each.dims or ())
            if not isinstance(dim, int)
        }
