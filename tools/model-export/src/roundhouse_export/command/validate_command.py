"""``roundhouse-export validate BUNDLE --against SOURCE|URL``."""

import argparse
from pathlib import Path

from roundhouse_export import isolation, sources
from roundhouse_export.command import options as texts
from roundhouse_export.command.progress import Steps
from roundhouse_export.refusal import RefusedError

ABOUT = (
    "Compares a bundle's numbers with its source or a running server. Each program runs with "
    "random inputs, zeros, large and denormal ones; the element that is furthest off is named. "
    "Exit code 1 when an output is not near."
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bundle", type=Path, metavar="BUNDLE")
    parser.add_argument(
        "--against",
        required=True,
        metavar="SOURCE|URL",
        help="what it was made from, or http://HOST:PORT of a server that has the model",
    )
    texts.add_import_options(parser)
    texts.add_plugin(parser)
    texts.add_json(parser)


def run(options: argparse.Namespace) -> int:
    of_server = options.against.startswith(("http://", "https://"))
    if not of_server:
        kind = sources.recognise(options.against)
        if kind.runs_code and not isolation.is_isolated():
            return isolation.run_again(options.arguments)
    texts.use_plugin(options)

    from roundhouse_export import validation
    from roundhouse_export.stored import StoredBundle

    steps = Steps(quiet=options.json)
    bundle = StoredBundle(options.bundle)
    if of_server:
        if bundle.code:
            raise RefusedError(
                f"{options.bundle}: a server answers with what {bundle.code} makes of the "
                "programs' outputs, so there is nothing to compare these with; compare with its "
                "source, or with a server that has the bundle without its hooks"
            )
        from roundhouse_export.served import ServedModel

        wanted = ServedModel(options.against, options.name or bundle.name, bundle.contract)
        reference: validation.Answers = wanted.answers
    else:
        steps(f"loading {options.against}")
        model = sources.load(options.against, texts.import_options(options))
        if model.reference is None:
            raise RefusedError(
                f"{options.against}: its framework is not installed here, so there is nothing to "
                "compare with; install it, or compare with a server: --against http://HOST:PORT"
            )
        reference = model.reference
    steps(f"running the programs of {options.bundle}")
    findings = validation.against_reference(options.bundle, reference, options.plugin)
    steps.end()
    print(validation.to_json(findings) if options.json else validation.rendered(findings))
    return 1 if any(each.is_wrong for each in findings) else 0
