"""``roundhouse-export new NAME``."""

import argparse
from pathlib import Path

from roundhouse_export.folder import replace_folder
from roundhouse_export.refusal import RefusedError

ABOUT = "Writes a project to begin with: a model in JAX, its parameters, and how to export it."
_TEMPLATE = Path(__file__).parents[1] / "template"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="of the folder and of the model")


def run(options: argparse.Namespace) -> int:
    target = Path(options.name)
    if not target.name.isidentifier():
        raise RefusedError(f"'{target.name}' cannot be a Python module's name; use letters and _")
    if target.exists():
        raise RefusedError(f"{target} is there already; choose another name or remove it")
    files = {
        each.name.removesuffix(".txt").replace("model.py", f"{target.name}.py"): each.read_text()
        for each in sorted(_TEMPLATE.iterdir())
    }
    replace_folder(
        target, {name: text.replace("NAME", target.name).encode() for name, text in files.items()}
    )
    print(f"wrote {target}; its README.md says how to go on")
    return 0
