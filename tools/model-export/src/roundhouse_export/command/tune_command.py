"""``roundhouse-export tune SOURCE --out DIR``, and ``tune --lengths FILE``."""

import argparse

from roundhouse_export.command import export_command, lengths_report
from roundhouse_export.refusal import RefusedError

ABOUT = (
    "Makes a bundle whose convolutions have been timed in several forms. The same as "
    "'roundhouse-export SOURCE --tune': the fastest form within tolerance is kept, by shape, and "
    "remembered for this processor, so that the next model tunes in seconds.\n\n"
    "With --lengths FILE, in place of a source: says which sizes to compile an axis for, so that "
    "requests of these lengths are padded little and there are few programs."
)


def add_options(parser: argparse.ArgumentParser) -> None:
    export_command.add_options(parser, needs_source=False)
    lengths_report.add_options(parser)
    parser.set_defaults(tune=True)


def run(options: argparse.Namespace) -> int:
    if options.lengths is not None:
        return lengths_report.run(options)
    if options.source is None or options.out is None:
        raise RefusedError("tune takes SOURCE and --out DIR, or --lengths FILE")
    return export_command.run(options)
