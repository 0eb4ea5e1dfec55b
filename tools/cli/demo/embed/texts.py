"""The texts of examples/embed."""

from pathlib import Path

SHOWN = 8
RECORDED = "sentence-transformers.npz"  # what that package makes of them, by record.py


def texts(folder: Path) -> list[str]:
    """A line each, and one that is longer than the model reads."""
    lines = (folder / "texts.txt").read_text(encoding="utf-8").splitlines()
    return [*lines, " ".join(lines * 5)]
