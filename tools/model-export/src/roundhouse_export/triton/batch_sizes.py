"""Which numbers of rows a model of Triton gets programs for."""

from collections.abc import Sequence

_MOST = 6


def batch_sizes(largest: int, preferred: Sequence[int] = ()) -> tuple[int, ...]:
    """Returns 1, ``largest``, the preferred ones, and powers of two between them.

    Six at most, as every one is a program to compile and to keep: powers of two go where the gap,
    as a ratio, is widest. Where too many are preferred, those that leave the narrowest gaps go.
    """
    sizes = {1, largest} | {size for size in preferred if 1 <= size <= largest}
    while len(sizes) > _MOST:
        ordered = sorted(sizes)
        inner = range(1, len(ordered) - 1)
        sizes.remove(ordered[min(inner, key=lambda i: ordered[i + 1] / ordered[i - 1])])
    powers = {1 << bit for bit in range(largest.bit_length())} - sizes
    while powers and len(sizes) < _MOST:
        ordered = sorted(sizes)

        def narrowest(size: int, ordered: Sequence[int] = ordered) -> float:
            below = max(each for each in ordered if each < size)
            above = min(each for each in ordered if each > size)
            return min(size / below, above / size)

        best = max(sorted(powers), key=narrowest)
        powers.remove(best)
        sizes.add(best)
    return tuple(sorted(sizes))
