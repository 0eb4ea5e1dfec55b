"""``roundhouse-export tune --lengths FILE``: a table of buckets, and what to pass on."""

import argparse
import json
from pathlib import Path

from roundhouse_export.command import options as texts
from roundhouse_export.refusal import RefusedError
from roundhouse_export.table import rendered

MOST_BUCKETS = 12
PRICE_PERCENT = 1.0


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("lengths")
    group.add_argument(
        "--lengths",
        type=Path,
        metavar="FILE",
        help="choose sizes for --axis from the lengths of requests, and do nothing else: a length "
        "a line, or a length and how many requests have it",
    )
    group.add_argument(
        "--buckets",
        type=_count,
        default=MOST_BUCKETS,
        metavar="N",
        help="at most this many sizes; default: %(default)s",
    )
    group.add_argument(
        "--price",
        type=_percent,
        default=PRICE_PERCENT,
        metavar="PERCENT",
        help="of all positions of requests, that a program must save to be worth its compile time "
        "and memory; default: %(default)s",
    )


def run(options: argparse.Namespace) -> int:
    from roundhouse_export.buckets import best_buckets, read_lengths

    if options.source is not None or options.out is not None:
        raise RefusedError(
            "--lengths chooses sizes and makes no bundle: leave SOURCE and --out out"
        )
    batch_sizes = len(options.batch_sizes)
    requests = read_lengths(options.lengths)
    found = best_buckets(requests, options.buckets)
    price = options.price / 100
    best = min(found, key=lambda each: each.cost(batch_sizes, price))
    argument = f"--axis AXIS={','.join(map(str, best.lengths))}"
    if options.json:
        rows = [
            {
                "lengths": each.lengths,
                "padding": each.padded_part,
                "programs": each.programs(batch_sizes),
                "cost": each.cost(batch_sizes, price),
                "best": each is best,
            }
            for each in found
        ]
        print(json.dumps({"buckets": rows, "options": argument}))
        return 0
    heads = ("buckets", "padding, %", "programs", "cost, %", "", "lengths")
    cells = [
        (
            len(each.lengths),
            f"{100 * each.padded_part:.1f}".rjust(len(heads[1])),
            each.programs(batch_sizes),
            f"{100 * each.cost(batch_sizes, price):.1f}".rjust(len(heads[3])),
            "best" if each is best else "",
            ",".join(map(str, each.lengths)),
        )
        for each in found
    ]
    count, longest = sum(requests.values()), max(requests)
    print(f"{count} requests of {min(requests)} to {longest} positions; longer ones are refused")
    print(rendered(heads, cells))
    print(
        f"import with: {argument} --pad INPUT=VALUE --trim OUTPUT, where AXIS is what the import "
        "calls it, with --pad for every input and --trim for every output that has it"
    )
    return 0


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= texts.MOST_SIZES:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 1 to {texts.MOST_SIZES}")
    return int(text)


def _percent(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 0 to 100")
    return value
