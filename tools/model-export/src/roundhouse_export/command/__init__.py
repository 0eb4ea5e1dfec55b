"""The command ``roundhouse-export``: one module for each of its sub-commands.

A module has ``ABOUT``, ``add_options(parser)`` and ``run(options) -> exit code``. Nothing of a
framework is imported before a command runs.
"""

import argparse
import importlib
import sys
from collections.abc import Sequence

from roundhouse_export.refusal import RefusedError
from roundhouse_export.version import VERSION

PROGRAM = "roundhouse-export"
COMMANDS = (
    "export",
    "repository",
    "convert",
    "validate",
    "inspect",
    "tune",
    "bench",
    "new",
)
FAILED = 1
REFUSED = 2
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given and not given[0].startswith("-") and given[0] not in COMMANDS:
        given.insert(0, "export")  # roundhouse-export SOURCE
    parser = _parser(given[0] if given and given[0] in COMMANDS else None)
    options = parser.parse_args(given)
    options.arguments = given
    if options.command is None:
        parser.print_help(sys.stderr)
        return REFUSED
    try:
        code: int = options.run(options)
    except RefusedError as refusal:
        print(f"{PROGRAM}: {refusal}", file=sys.stderr)
        return REFUSED
    except OSError as failure:  # a full disk, a folder that may not be written
        print(f"{PROGRAM}: {failure}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print(f"{PROGRAM}: interrupted; nothing was written", file=sys.stderr)
        return INTERRUPTED
    return code


def _parser(wanted: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Makes bundles that Roundhouse serves, from models of any kind, and looks at "
        "them. 'roundhouse-export SOURCE --out DIR' is short for 'roundhouse-export export ...'.",
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {VERSION}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name in COMMANDS:
        module = importlib.import_module(f"{__name__}.{name}_command")
        sub = commands.add_parser(
            name,
            help=module.ABOUT.split(".")[0],
            description=module.ABOUT,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name == wanted:
            module.add_options(sub)
            sub.set_defaults(run=module.run)
    return parser
