"""Rows as people read them: columns as wide as they need, numbers to the right."""

from collections.abc import Sequence


def rendered(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    texts = [[_text(cell) for cell in row] for row in rows]
    widths = [
        max(len(row[column]) for row in [list(heads), *texts]) for column in range(len(heads))
    ]
    right = [
        bool(rows) and all(isinstance(row[column], int | float) for row in rows)
        for column in range(len(heads))
    ]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in [list(heads), *texts]
    )


def _text(cell: object) -> str:
    return f"{cell:.3g}" if isinstance(cell, float) else str(cell)
