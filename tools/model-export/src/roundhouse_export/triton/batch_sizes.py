"""Which numbers of rows a model of Triton gets programs for."""

from collections.abc import Sequence

_MOST = 6


def batch_sizes(largest: int, preferred: Sequence[int] = ()) -> tuple[int, ...]:
    """Returns 1, ``largest``, the preferred ones, and powers of two between them.

    Six at most, as every one is a program to compile and to keep. Powers of two go first, then
    preferred ones, each time the one that leaves the narrowest gap as a ratio.
    """
    wanted = {size for size in preferred if 1 <= size <= largest}
    sizes = {1, largest} | wanted | {1 << bit for bit in range(largest.bit_length())}
    while len(sizes) > _MOST:
        ordered = sorted(sizes)
        gaps = {
            size: ordered[i + 1] / ordered[i - 1] for i, size in enumerate(ordered[1:-1], start=1)
        }
        powers = [size for size in gaps if size not in wanted]
        sizes.remove(min(powers or gaps, key=lambda size: gaps[size]))
    return tuple(sorted(sizes))
