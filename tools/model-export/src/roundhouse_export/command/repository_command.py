"""``roundhouse-export repository SOURCE --out DIR``."""

import argparse
from pathlib import Path

from roundhouse_export import isolation
from roundhouse_export.command import options as texts
from roundhouse_export.command.progress import Steps
from roundhouse_export.refusal import RefusedError

ABOUT = (
    "Makes bundles from a Triton repository, or from a folder of .onnx files. What has not changed "
    "since the last time is left alone; a model that cannot be converted is a row with its reason, "
    "and a failed model of the server's, and the others serve. Exit code 1 when there is one."
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", type=Path, metavar="REPOSITORY")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    texts.add_import_options(parser)
    texts.add_json(parser)


def run(options: argparse.Namespace) -> int:
    if not isolation.is_isolated():
        return isolation.run_again(options.arguments)
    from roundhouse_export import repository

    steps = Steps(quiet=options.json)
    try:
        rows = repository.convert_repository(
            options.source, options.out, texts.import_options(options), steps
        )
    except OSError as failure:
        raise RefusedError(
            f"{failure.filename or options.out}: {failure.strerror or failure}; models converted "
            "before this are whole, none is half-written: mend it and run this again"
        ) from failure
    finally:
        steps.end()
    print(repository.to_json(rows) if options.json else repository.rendered(rows))
    return 1 if any(row.is_refused for row in rows) else 0
