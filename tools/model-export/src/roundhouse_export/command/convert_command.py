"""``roundhouse-export convert BUNDLE_2 --out DIR``."""

import argparse
from pathlib import Path

from roundhouse_export.command import options as texts

ABOUT = (
    "Makes a bundle of format 3 from one of format 2.0. Programs stay as they are, byte for byte."
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bundle", type=Path, metavar="BUNDLE")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    texts.add_import_options(parser)


def run(options: argparse.Namespace) -> int:
    from roundhouse_export.convert_2 import convert

    target = options.out / (options.name or options.bundle.resolve().name)
    convert(options.bundle, target, texts.import_options(options))
    print(f"wrote {target}")
    return 0
