"""``roundhouse-export SOURCE --out DIR``."""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from roundhouse_export import isolation, sources
from roundhouse_export.command import options as texts
from roundhouse_export.command.progress import Steps
from roundhouse_export.refusal import RefusedError

if TYPE_CHECKING:
    from roundhouse_export.validation import Finding

ABOUT = (
    "Makes a bundle from a model. What SOURCE is, is found out.\n\n"
    "Whatever can run code of its author (pickles, Keras archives, TorchScript, Python objects) "
    "is loaded in a process without a network, where the system allows that."
)


def add_options(parser: argparse.ArgumentParser, needs_source: bool = True) -> None:
    texts.add_source(parser, needs_source)
    parser.add_argument(
        "--out",
        type=Path,
        required=needs_source,
        metavar="DIR",
        help="folder for bundles; the model's becomes DIR/NAME, replacing what is there",
    )
    texts.add_import_options(parser)
    parser.add_argument(
        "--tune",
        action="store_true",
        help="time several forms of each convolution on the plugin and keep the fastest",
    )
    texts.add_plugin(parser)
    parser.add_argument(
        "--text",
        action="store_true",
        help="write programs as readable text, tied to releases close to the one that wrote it",
    )
    parser.add_argument(
        "--as-lowered",
        action="store_true",
        help="leave programs as the framework made them: no operation is rewritten",
    )
    parser.add_argument(
        "--numerics",
        choices=("as-written", "f32"),
        default="as-written",
        help="f32 uses no TF32 on any device; default: %(default)s",
    )
    parser.add_argument(
        "--no-check", action="store_true", help="do not compare the bundle with its source"
    )
    texts.add_json(parser)


def run(options: argparse.Namespace) -> int:
    if options.tune and options.plugin is None:
        raise RefusedError(
            "--tune times programs where they will run: say with --plugin FILE on what"
        )
    if options.tune and options.as_lowered:
        raise RefusedError("--tune chooses among rewritten programs, and --as-lowered wants none")
    kind = sources.recognise(options.source)
    if kind.runs_code and not isolation.is_isolated():
        return isolation.run_again(options.arguments)
    texts.use_plugin(options)
    steps = Steps(quiet=options.json)
    steps(f"loading {options.source}, {kind.kind}")
    imported = texts.import_options(options)
    model = sources.load(options.source, imported)
    target = options.out / model.name
    if target.exists() and not (target / "manifest.yaml").exists():
        raise RefusedError(
            f"{target} is there and is no bundle; give another --out or --name, or remove it"
        )
    steps.end()

    from roundhouse_export import pipeline, validation
    from roundhouse_export.folder import staged
    from roundhouse_export.jax_program import Encoding
    from roundhouse_export.numerics import Numerics
    from roundhouse_export.padding_notes import padding_notes

    findings = []
    with staged(target) as fresh:
        bundle = pipeline.export_model(
            model,
            fresh,
            Encoding.TEXT if options.text else Encoding.ARTIFACT,
            numerics=Numerics[options.numerics.upper().replace("-", "_")],
            rewrite=not options.as_lowered,
            plugin=options.plugin if options.tune else None,
            progress=steps,
        )
        if not options.no_check and model.reference is not None:
            steps("comparing with the source")
            findings = validation.against_reference(fresh, model.reference, plugin=options.plugin)
        steps.end()
        refusal = validation.padding_refusal(findings)
        if refusal:
            raise RefusedError(f"{options.source}: {refusal}")
    stopped = bundle.provenance.get(pipeline.TUNING_STOPPED)
    for note in (*model.notes, *padding_notes(model.contract), *([stopped] if stopped else [])):
        print(f"note: {note}", file=sys.stderr)
    if options.json:
        print(json.dumps({"bundle": str(target), "checks": [each.to_json() for each in findings]}))
    else:
        _tell(target, findings, model.reference is not None and not options.no_check)
    return 1 if any(each.is_wrong for each in findings) else 0


def _tell(target: Path, findings: "list[Finding]", compared: bool) -> None:
    from roundhouse_export import validation

    if findings:
        print(validation.rendered(findings))
    elif not compared:
        print("not compared with the source: its framework is not here, or --no-check was given")
    print(f"wrote {target}; serve it with: ./roundhouse up --models {target.parent}")
