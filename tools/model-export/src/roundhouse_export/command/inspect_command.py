"""``roundhouse-export inspect BUNDLE``."""

import argparse
import json
from pathlib import Path

from roundhouse_export.command import options as texts
from roundhouse_export.table import rendered

ABOUT = (
    "Says what is in a bundle. Inputs, outputs, programs with their operations, FLOPs and memory, "
    "weights by size, and custom calls, which the server runs few of."
)
_MOST_WEIGHTS = 10
_MOST_OPERATIONS = 12


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bundle", type=Path, metavar="BUNDLE")
    parser.add_argument(
        "--no-compile", action="store_true", help="leave out the memory of a run, which XLA knows"
    )
    texts.add_plugin(parser)
    texts.add_json(parser)


def run(options: argparse.Namespace) -> int:
    from roundhouse_export.inspection import inspect
    from roundhouse_export.padded_requests import described

    found = inspect(options.bundle, compile_programs=not options.no_compile, plugin=options.plugin)
    if options.json:
        print(json.dumps(found.to_json(), indent=2))
        return 0
    print(f"{found.name}: {found.description}" if found.description else found.name)
    print()
    rows = [("input", *row, _padded(found.pad.get(row[0]))) for row in found.inputs]
    rows += [("output", *row, "cut back" * (row[0] in found.trim)) for row in found.outputs]
    print(rendered(("", "name", "dtype", "shape", ""), rows))
    if found.variants:
        print(f"variants: {'; '.join(map(described, found.variants))}")
    print()
    heads = ("program", "operations", "MFLOP", "KiB", "memory of a run, MiB")
    print(
        rendered(
            heads,
            [
                (
                    each.file_name,
                    each.count,
                    each.flops / 1e6,
                    each.file_bytes / 1024,
                    "-" if each.run_bytes is None else f"{each.run_bytes / (1 << 20):.2f}",
                )
                for each in found.programs
            ],
        )
    )
    print()
    first = found.programs[0]
    print(f"operations of {first.file_name}:")
    print(rendered(("operation", "times"), first.operations[:_MOST_OPERATIONS]))
    print()
    total = sum(size for _, _, _, size in found.weights)
    print(f"{len(found.weights)} weights, {total / (1 << 20):.2f} MiB; the largest:")
    print(
        rendered(
            ("weight", "dtype", "shape", "KiB"),
            [(n, d, s, size / 1024) for n, d, s, size in found.weights[:_MOST_WEIGHTS]],
        )
    )
    for call in found.custom_calls:
        print(f"custom call {call}: the server runs it only if its plugin has it")
    return 0


def _padded(value: float | None) -> str:
    return "" if value is None else f"padded with {value}"
