"""Which lengths to compile a model for, from how long requests are."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from roundhouse_export.refusal import RefusedError

MOST_LENGTH = 1 << 16
_MOST_REQUESTS = 1 << 40  # times the longest, the sum of all positions still fits 64 bits
_NEVER = np.iinfo(np.int64).max // 2


@dataclass(frozen=True)
class Buckets:
    """Lengths to compile for, ascending; ``positions`` are of all requests, ``padding`` of them
    those that are none of a request's own."""

    lengths: tuple[int, ...]
    positions: int
    padding: int

    @property
    def padded_part(self) -> float:
        return self.padding / self.positions

    def cost(self, batch_sizes: int, price: float) -> float:
        """Padding, and what its programs cost, in parts of the positions that requests have.

        ``price`` is that of one program.
        """
        return self.padding / (self.positions - self.padding) + price * self.programs(batch_sizes)

    def programs(self, batch_sizes: int) -> int:
        return batch_sizes * len(self.lengths)


def best_buckets(requests: Mapping[int, int], most: int) -> list[Buckets]:
    """For 1, 2, ... up to ``most`` buckets those with the least padding, exactly.

    ``requests`` has how many there are of each length. A best bucket is as long as some request:
    a shorter one in its place would pad less.

    Dynamic programming: the least positions of the requests up to the j-th length in k buckets
    are those of the requests up to some i-th in k - 1, and the rest in a bucket of the j-th.
    """
    lengths = np.array(sorted(requests), np.int64)
    counts = np.array([requests[int(length)] for length in lengths], np.int64)
    before = np.concatenate([[0], np.cumsum(counts)])
    own = int((lengths * counts).sum())
    most = min(most, len(lengths))
    least = np.full((most + 1, len(lengths) + 1), _NEVER, np.int64)
    least[0, 0] = 0
    cut = np.zeros((most + 1, len(lengths) + 1), np.int64)
    for j in range(1, len(lengths) + 1):
        last = lengths[j - 1] * (before[j] - before[:j])
        totals = np.minimum(least[:-1, :j], _NEVER - last) + last
        cut[1:, j] = totals.argmin(axis=1)
        least[1:, j] = totals.min(axis=1)
    found = []
    for count in range(1, most + 1):
        positions = int(least[count, -1])
        found.append(Buckets(_chosen(lengths, cut, count), positions, positions - own))
    return found


def _chosen(lengths: np.ndarray, cut: np.ndarray, count: int) -> tuple[int, ...]:
    chosen = []
    end = len(lengths)
    for left in range(count, 0, -1):
        chosen.append(int(lengths[end - 1]))
        end = int(cut[left, end])
    return tuple(reversed(chosen))


def read_lengths(file: Path) -> dict[int, int]:
    """How many requests there are of each length: a line has a length, or a length and a count."""
    found: Counter[int] = Counter()
    try:
        lines = file.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as failure:
        raise RefusedError(f"{file}: cannot be read: {failure}") from failure
    for number, line in enumerate(lines, 1):
        fields = line.split()
        if not fields:
            continue
        if len(fields) > 2 or not all(each.isascii() and each.isdigit() for each in fields):
            raise RefusedError(
                f"{file}:{number}: '{line[:40]}' is not a length, or a length and how many "
                "requests have it"
            )
        length, count = int(fields[0]), int(fields[1]) if len(fields) == 2 else 1
        if not 1 <= length <= MOST_LENGTH:
            raise RefusedError(f"{file}:{number}: length {length}; lengths are 1 to {MOST_LENGTH}")
        found[length] += count
    if not 1 <= found.total() <= _MOST_REQUESTS:
        raise RefusedError(
            f"{file}: has {found.total()} requests; it must have 1 to {_MOST_REQUESTS}"
        )
    return {length: count for length, count in found.items() if count}
