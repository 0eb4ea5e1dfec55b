"""Texts of mixed lengths: a model compiled for several lengths beside the same, padded to 128 tokens, in turns.

``prepare`` imports the model twice, ``run`` asks a server that serves both.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from itertools import cycle
from pathlib import Path

import numpy as np
from roundhouse_export.table import rendered

from asked import AskedModel
from bench_models import Cell, rate
from onnx_files import minilm_embedding

MIXED, PADDED = "minilm-mixed", "minilm-padded"
LONGEST, MEAN, SIGMA = 128, 40, 0.6  # tokens; the logarithm of a length is normal
BUCKETS = 8
CALLERS, REQUESTS = 32, 20  # and different requests of each
ROUNDS, QUICK_ROUNDS, SECONDS, QUICK_SECONDS = 9, 3, 4.0, 1.0
GAIN, PADDING = 1.5, 0.15


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    own = verbs.add_parser("prepare")
    own.add_argument("--folder", type=Path, required=True, help="of the source and the bundles")
    own.add_argument("--plugin", type=Path, required=True)
    own.add_argument("--cache", type=Path, required=True, help="where wheels are kept")
    own = verbs.add_parser("run")
    own.add_argument("--http-port", type=int, required=True)
    own.add_argument("--metrics-port", type=int, required=True)
    own.add_argument("--quick", action="store_true")
    own.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.verb == "prepare":
        prepare(options)
    else:
        run(options)


def lengths(count: int, seed: int) -> list[int]:
    drawn = np.random.default_rng(seed).lognormal(math.log(MEAN) - SIGMA**2 / 2, SIGMA, count)
    return [int(length) for length in np.clip(np.round(drawn), 1, LONGEST)]


def prepare(options: argparse.Namespace) -> None:
    source = minilm_embedding(options.folder, options.cache)
    for name, compiled in ((MIXED, chosen(options.folder)), (PADDED, str(LONGEST))):
        command = [sys.executable, "-m", "roundhouse_export", str(source), "--out", str(options.folder / "models")]
        command += ["--name", name, "--batch-sizes", "1,8", "--plugin", str(options.plugin)]
        command += ["--axis", f"s={compiled}", "--pad", "input_ids=0", "--pad", "attention_mask=0"]
        subprocess.run(command, check=True, stdout=sys.stderr)


def chosen(folder: Path) -> str:
    """The lengths that the exporter would compile for, seeing some requests."""
    seen = folder / "lengths.txt"
    seen.write_text("".join(f"{length}\n" for length in [*lengths(4000, 1), LONGEST]))
    command = [sys.executable, "-m", "roundhouse_export", "tune", "--json"]
    command += ["--lengths", str(seen), "--buckets", str(BUCKETS)]
    told = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    compiled = ",".join(map(str, told["buckets"][-1]["lengths"]))
    print(f"compiled for {compiled} tokens", file=sys.stderr)
    return compiled


def run(options: argparse.Namespace) -> None:
    rounds, seconds = (QUICK_ROUNDS, QUICK_SECONDS) if options.quick else (ROUNDS, SECONDS)

    def rows(model: str) -> float:
        caller = iter(range(CALLERS))
        return rate(lambda: asking(options.http_port, model, next(caller)), CALLERS, seconds)

    for model in (MIXED, PADDED):
        rows(model)
    before = positions(options.metrics_port)
    turns = [(rows(MIXED), rows(PADDED)) for _ in range(rounds)]
    positions_made, padding = (
        after - earlier for after, earlier in zip(positions(options.metrics_port), before, strict=True)
    )
    ratio = statistics.median(mixed / padded for mixed, padded in turns)
    ours, peer = (statistics.median(side) for side in zip(*turns, strict=True))
    part = padding / positions_made
    cells = [
        Cell("rows/s, vs all padded to 128", ours, peer, "rows/s", ratio, f">= {GAIN}", ratio >= GAIN, "lengths"),
        Cell("padding, of all positions", part, 0, "", 0, f"<= {PADDING}", part <= PADDING, "lengths"),
    ]
    if options.json:
        for cell in cells:
            print(json.dumps(asdict(cell)))
        return
    lines = [
        (each.cell, each.ours, each.peer or "-", each.unit, each.ratio or "-", each.goal, "yes" if each.met else "NO")
        for each in cells
    ]
    print(rendered(("cell", "ours", "peer", "unit", "ratio", "goal", "met"), lines))


def asking(port: int, model: str, caller: int) -> Callable[[], object]:
    random = np.random.default_rng(caller)
    asked = []
    for length in lengths(REQUESTS, 100 + caller):
        ids = random.integers(1000, 20000, (1, length), np.int32)
        asked.append(AskedModel(port, model, {"input_ids": ids, "attention_mask": np.ones_like(ids)}))
    turn = cycle(asked)
    return lambda: next(turn).ask()


def positions(port: int) -> tuple[float, float]:
    """All that the mixed model's runs had, and those that were padding."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    found = Counter[str]()
    for line in text.splitlines():
        for name in ("roundhouse_positions_total", "roundhouse_positions_padding_total"):
            if line.startswith(f'{name}{{model="{MIXED}"'):
                found[name] += float(line.rsplit(" ", 1)[1])
    return found["roundhouse_positions_total"], found["roundhouse_positions_padding_total"]


if __name__ == "__main__":
    main()
