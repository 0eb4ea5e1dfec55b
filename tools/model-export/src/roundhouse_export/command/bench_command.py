"""``roundhouse-export bench BUNDLE``."""

import argparse
import json
from pathlib import Path

from roundhouse_export import isolation, sources
from roundhouse_export.command import options as texts
from roundhouse_export.command.progress import Steps
from roundhouse_export.table import rendered

ABOUT = (
    "Times a bundle's programs beside the framework that it was made from. Both take turns in "
    "rounds, with a pause before each, on the same inputs: medians, and the spread of the ratio. "
    "Beside an .onnx file that is onnxruntime with two threads. Programs that requests are padded "
    "for also run such a request, beside the framework at the request's own length."
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bundle", type=Path, metavar="BUNDLE")
    parser.add_argument(
        "--beside", metavar="SOURCE", help="what it was made from; without it, our side alone"
    )
    parser.add_argument("--rounds", type=int, default=30, metavar="N", help="default: %(default)s")
    texts.add_import_options(parser)
    texts.add_plugin(parser)
    texts.add_json(parser)


def run(options: argparse.Namespace) -> int:
    if options.beside:
        kind = sources.recognise(options.beside)
        if kind.runs_code and not isolation.is_isolated():
            return isolation.run_again(options.arguments)
    texts.use_plugin(options)
    from roundhouse_export.timing import time_bundle

    steps = Steps(quiet=options.json)
    reference = None
    if options.beside:
        steps(f"loading {options.beside}")
        reference = sources.load(options.beside, texts.import_options(options)).reference
    steps(f"timing {options.bundle}")
    cells = time_bundle(options.bundle, reference, options.rounds, options.plugin, steps.part)
    steps.end()
    if options.json:
        print(json.dumps([each.to_json() for each in cells]))
        return 0
    heads = ("program", "rows", "padded", "ours, ms", "beside, ms", "ratio", "spread")
    rows = [
        (
            each.program,
            each.rows,
            each.padded or "-",
            each.ours_ms,
            "-" if each.beside_ms is None else f"{each.beside_ms:.3g}",
            "-" if each.ratio is None else f"{each.ratio:.2f}",
            "-" if each.spread is None else f"{each.spread[0]:.2f}..{each.spread[1]:.2f}",
        )
        for each in cells
    ]
    print(rendered(heads, rows))
    return 0
