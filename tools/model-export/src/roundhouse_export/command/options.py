"""Options that several commands take, and what their texts mean."""

import argparse
import math
import re
from pathlib import Path

from roundhouse_export.contract import TensorSpec
from roundhouse_export.model import ImportOptions, Wide

_INPUT = re.compile(r"(?P<name>[^=]+)=(?P<dtype>\w+)\[(?P<shape>[^\]]*)\]")
_MOST_ROWS = 1 << 16
MOST_SIZES = 64
"""Of an axis, each of them a program."""


def add_source(parser: argparse.ArgumentParser, is_needed: bool = True) -> None:
    parser.add_argument(
        "source",
        nargs=None if is_needed else "?",
        metavar="SOURCE",
        help="an .onnx file; package.module:attribute (a Flax, "
        "Equinox, Keras or PyTorch model, an estimator, or a JAX function with its parameters); a "
        ".joblib, .skops, .keras, .pt2 or .pt file; a model of a Triton repository",
    )


def add_import_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--name", help="of the model; default: from the source's own name", metavar="N"
    )
    parser.add_argument(
        "--batch-sizes",
        type=batch_sizes,
        default=ImportOptions.batch_sizes,
        metavar="1,8,32",
        help="numbers of rows to have a program for; default: "
        + ",".join(map(str, ImportOptions.batch_sizes)),
    )
    parser.add_argument(
        "--axis",
        type=axis,
        action="append",
        default=[],
        metavar="s=16,64,128",
        help="sizes of an axis that varies, by its name in the source or its letter in --input; "
        "may be repeated",
    )
    parser.add_argument(
        "--input",
        type=tensor,
        action="append",
        default=[],
        metavar="x=f32[n,3,224,224]",
        help="an input where the source does not say it, or says it too narrowly; n is the batch, "
        "any other letter an axis that --axis sizes; may be repeated",
    )
    parser.add_argument(
        "--pad",
        type=padding,
        action="append",
        default=[],
        metavar="ids=0",
        help="pad this input of requests that are shorter than a size of --axis, at the end of its "
        "axes, with a value; needed of every input with such an axis; may be repeated",
    )
    parser.add_argument(
        "--trim",
        action="append",
        default=[],
        metavar="OUTPUT",
        help="cut this output back to a padded request's own sizes; may be repeated",
    )
    parser.add_argument(
        "--wide",
        choices=[each.name.lower() for each in Wide],
        default=Wide.REFUSE.name.lower(),
        help="64-bit weights and computations: refuse names them, cast makes them 32 bits wide, "
        "keep leaves them; default: %(default)s",
    )
    parser.add_argument(
        "--trust",
        action="store_true",
        help="load files that can run code of whoever made them (pickles, Lambda layers, "
        "TorchScript)",
    )


def import_options(options: argparse.Namespace) -> ImportOptions:
    return ImportOptions(
        name=options.name,
        batch_sizes=options.batch_sizes,
        axes=dict(options.axis),
        inputs={spec.name: spec for spec in options.input},
        pad=dict(options.pad),
        trim=tuple(options.trim),
        wide=Wide[options.wide.upper()],
        trust=options.trust,
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def add_plugin(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--plugin",
        type=existing_file,
        metavar="FILE",
        help="run programs on this PJRT plugin, such as the one that serves; default: jaxlib's own",
    )


def existing_file(text: str) -> Path:
    if not Path(text).is_file():
        raise argparse.ArgumentTypeError(f"'{text}' is no file")
    return Path(text)


def batch_sizes(text: str) -> tuple[int, ...]:
    """``1,8,32``, ascending."""
    return _sizes(text, "a number of rows")


def axis(text: str) -> tuple[str, tuple[int, ...]]:
    """``s=16,64,128``"""
    name, _, sizes = text.rpartition("=")
    if not name:
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form s=16,64,128")
    return name, _sizes(sizes, "a size")


def _sizes(text: str, what: str) -> tuple[int, ...]:
    try:
        sizes = sorted({int(part) for part in text.split(",")})
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a list of whole numbers such as 1,8,32"
        ) from None
    if sizes[0] < 1 or sizes[-1] > _MOST_ROWS:
        raise argparse.ArgumentTypeError(
            f"{what} of {sizes[0] if sizes[0] < 1 else sizes[-1]}: must be 1 to {_MOST_ROWS}"
        )
    return tuple(sizes)


def tensor(text: str) -> TensorSpec:
    """``x=f32[n,3,224,224]``"""
    parts = _INPUT.fullmatch(text)
    if parts is None:
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form x=f32[n,3,224,224]")
    axes = [part.strip() for part in parts["shape"].split(",") if part.strip()]
    try:
        return TensorSpec(
            parts["name"],
            parts["dtype"],
            tuple(int(each) if each.lstrip("-").isdigit() else each for each in axes),
        )
    except ValueError as refusal:
        raise argparse.ArgumentTypeError(str(refusal)) from None


def padding(text: str) -> tuple[str, int | float]:
    """``input_ids=0``"""
    name, _, value = text.rpartition("=")
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not name or not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form input_ids=0")
    return name, int(number) if number.is_integer() and abs(number) <= 1 << 53 else number


def use_plugin(options: argparse.Namespace) -> None:
    """Makes the plugin known, if one is named; before JAX is used for anything."""
    if options.plugin is not None:
        from roundhouse_export.program_runner import platform_of

        platform_of(options.plugin)
