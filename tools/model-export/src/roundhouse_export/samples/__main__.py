"""Command line of the samples: ``python -m roundhouse_export.samples --help``."""

import argparse
import os
import sys
import time
from enum import Enum
from pathlib import Path

from roundhouse_export import samples
from roundhouse_export.jax_program import PLATFORMS, Encoding
from roundhouse_export.numerics import Numerics
from roundhouse_export.program_runner import register_plugin
from roundhouse_export.samples.check import check_digests, check_programs
from roundhouse_export.samples.sample import COMMITTED_MODELS, Sample


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.command == "list":
        return _list()
    chosen = options.samples or [samples.get(name) for name in samples.NAMES]
    if options.command == "build":
        return _build(chosen, options)
    return _check(chosen, options.models, options.plugin)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m roundhouse_export.samples",
        description="Builds and checks the sample bundles.",
    )
    commands = parser.add_subparsers(dest="command", required=True)

    build = commands.add_parser(
        "build",
        help="write bundles, replacing those there",
        description="Writes bundles. What goes with a bundle but not into it is written beside "
        "the models folder: held-out digit images to OUT/../digits/heldout.npz.",
    )
    _add_samples(build)
    build.add_argument("--out", type=Path, default=COMMITTED_MODELS, help="default: %(default)s")
    build.add_argument(
        "--encoding", choices=_names(Encoding), help="of program files; default: each sample's own"
    )
    build.add_argument(
        "--platforms",
        type=lambda text: tuple(text.split(",")),
        default=PLATFORMS,
        help=f"platforms that one program file serves; default: {','.join(PLATFORMS)}",
    )
    build.add_argument(
        "--numerics",
        choices=_names(Numerics),
        default=_name(Numerics.AS_WRITTEN),
        help="f32 writes programs that use no TF32 on any device; default: %(default)s",
    )

    check = commands.add_parser(
        "check",
        help="compare built bundles with the framework",
        description="Verifies digests, runs every program file and prints the largest absolute "
        "difference from the framework's answer; exits 1 when one is out of tolerance.",
    )
    _add_samples(check)
    check.add_argument("--models", type=Path, default=COMMITTED_MODELS, help="default: %(default)s")
    check.add_argument(
        "--plugin", type=Path, help="run the programs on this PJRT plugin's library instead"
    )

    commands.add_parser("list", help="name the samples")
    return parser


def _add_samples(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "samples",
        nargs="*",
        metavar="NAME",
        type=_sample,
        help=f"samples to take, all by default: {', '.join(samples.NAMES)}",
    )


def _sample(name: str) -> Sample:
    try:
        return samples.get(name)
    except ValueError as unknown:
        raise argparse.ArgumentTypeError(str(unknown)) from None


def _name(member: Enum) -> str:
    return member.name.lower().replace("_", "-")


def _names(kind: type[Enum]) -> list[str]:
    return [_name(member) for member in kind]


def _build(chosen: list[Sample], options: argparse.Namespace) -> int:
    encoding = next((each for each in Encoding if _name(each) == options.encoding), None)
    numerics = next(each for each in Numerics if _name(each) == options.numerics)
    for sample in chosen:
        started = time.monotonic()
        sample.build(options.out / sample.name, encoding, options.platforms, numerics)
        if sample.companion is not None:
            sample.companion(options.out.parent / sample.name)
        print(f"built {sample.name:10} {time.monotonic() - started:6.1f} s", flush=True)
    return 0


def _check(chosen: list[Sample], models: Path, plugin: Path | None) -> int:
    platform = "cpu" if plugin is None else register_plugin(plugin)
    failures = 0
    for sample in chosen:
        started = time.monotonic()
        problems = check_digests(sample, models)
        checked = check_programs(sample, models, platform)
        worst = max(program.largest_difference for program in checked)
        for problem in problems:
            print(f"WRONG {sample.name}: {problem}")
        for program in checked:
            if not program.within_tolerance:
                print(
                    f"WRONG {sample.name}/{program.file_name}: differs by "
                    f"{program.largest_difference:.3g}, tolerance {sample.tolerance:.3g}"
                )
        good = not problems and all(program.within_tolerance for program in checked)
        failures += not good
        print(
            f"{'ok   ' if good else 'WRONG'} {sample.name:10} {len(checked)} programs, largest "
            f"difference {worst:.3g}, tolerance {sample.tolerance:.3g}, "
            f"{time.monotonic() - started:.1f} s",
            flush=True,
        )
    return 1 if failures else 0


def _list() -> int:
    for name in samples.NAMES:
        print(f"{name:10} {samples.get(name).description}")
    return 0


if __name__ == "__main__":
    # XLA splits sums over its threads, so training on another number of cores would round
    # differently. Read when JAX first computes.
    os.environ["PJRT_NPROC"] = "1"
    sys.exit(main())
