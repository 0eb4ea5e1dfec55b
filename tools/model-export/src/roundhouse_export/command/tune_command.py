"""``roundhouse-export tune SOURCE --out DIR``."""

import argparse

from roundhouse_export.command import export_command

ABOUT = (
    "Makes a bundle whose convolutions have been timed in several forms. The same as "
    "'roundhouse-export SOURCE --tune': the fastest form within tolerance is kept, by shape, and "
    "remembered for this processor, so that the next model tunes in seconds."
)


def add_options(parser: argparse.ArgumentParser) -> None:
    export_command.add_options(parser)
    parser.set_defaults(tune=True)


def run(options: argparse.Namespace) -> int:
    return export_command.run(options)
