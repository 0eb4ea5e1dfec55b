"""Real models on this machine: our server and the bare plugin beside onnxruntime, in the same rounds.

``prepare`` imports the models as anybody would, ``run`` times them at a server that serves them.
"""

import argparse
import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from roundhouse_export.stored import StoredBundle
from roundhouse_export.table import rendered
from roundhouse_export.timing import take_turns

from asked import AskedModel
from models import MODELS, BenchModel

ROUNDS, QUICK_ROUNDS = 15, 5
THREADS = 2  # of onnxruntime, and of the requests that a server is asked at a time
THROUGHPUT_SECONDS, QUICK_SECONDS = 3.0, 0.6
TOLERANCE = 2e-3
NOT_NEAR = 1  # how the exporter ends when it wrote a bundle that is not near for some inputs
AT_ONE, AT_BEST, OF_PLUGIN = 1.2, 1.0, 0.97


@dataclass(frozen=True)
class Cell:
    """One line: what we take or do, what the peer does, and whether the goal is met."""

    cell: str
    ours: float
    peer: float
    unit: str
    ratio: float
    goal: str
    met: bool | None
    bench: str = "models"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb in ("prepare", "run"):
        own = verbs.add_parser(verb)
        own.add_argument("--folder", type=Path, required=True, help="of sources and bundles")
        own.add_argument("--plugin", type=Path, required=True)
        own.add_argument("--only", default="", help="names of models, with commas between")
        if verb == "prepare":
            own.add_argument("--cache", type=Path, required=True, help="where wheels are kept")
            own.add_argument("--tune", action="store_true")
        else:
            own.add_argument("--http-port", type=int, required=True)
            own.add_argument("--quick", action="store_true")
            own.add_argument("--json", action="store_true")
    options = parser.parse_args()
    chosen = chosen_models(options.only)
    if options.verb == "prepare":
        prepare(options, chosen)
    else:
        run(options, chosen)


def chosen_models(only: str) -> Sequence[BenchModel]:
    names = [each for each in only.split(",") if each]
    known = {model.name: model for model in MODELS}
    for name in names:
        if name not in known:
            raise SystemExit(f"there is no model '{name}'; there are {', '.join(known)}")
    return [known[name] for name in names] if names else MODELS


# Sources and bundles.


def prepare(options: argparse.Namespace, chosen: Sequence[BenchModel]) -> None:
    sources, bundles = options.folder / "sources", options.folder / "models"
    sources.mkdir(parents=True, exist_ok=True)
    bundles.mkdir(exist_ok=True)
    seconds, peers = {}, {}
    for model in chosen:
        source = model.source(sources, options.cache)
        peers[model.name] = model.peer_file(sources, source).name
        seconds[model.name] = imported(model, source, bundles, options)
        print(f"imported {model.name} in {seconds[model.name]:.1f} s", file=sys.stderr, flush=True)
    (options.folder / "imported.json").write_text(
        json.dumps({"tuned": options.tune, "seconds": seconds, "peers": peers})
    )


def imported(model: BenchModel, source: Path, bundles: Path, options: argparse.Namespace) -> float:
    """Seconds that importing took, with the comparison of its numbers."""
    sizes = ",".join(map(str, model.batch_sizes))
    command = [sys.executable, "-m", "roundhouse_export", str(source), "--out", str(bundles)]
    command += ["--name", model.name, "--batch-sizes", sizes, "--plugin", str(options.plugin)]
    command += [*model.options, *(["--tune"] if options.tune else [])]
    began = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode == NOT_NEAR:
        print(f"{model.name}: not near its source for some inputs:\n{done.stdout}", file=sys.stderr)
    elif done.returncode:
        raise SystemExit(f"{model.name} cannot be imported:\n{done.stdout}")
    return time.monotonic() - began


# Timing.


def run(options: argparse.Namespace, chosen: Sequence[BenchModel]) -> None:
    known = json.loads((options.folder / "imported.json").read_text())
    cells: list[Cell] = []
    for model in chosen:
        for rows in model.batch_sizes:
            print(f"timing {model.name} with {rows} rows ...", file=sys.stderr, flush=True)
            peer = options.folder / "sources" / known["peers"][model.name]
            cells += timed(model, rows, peer, options)
    tuned = known["tuned"]
    for name, seconds in known["seconds"].items():
        goal = (60 if tuned else 15) if name == "resnet18" else None
        what = f"{name} import{', tuned' if tuned else ''}"
        met = None if goal is None else seconds <= goal
        cells.append(Cell(what, seconds, 0, "s", 0, f"<= {goal} s" if goal else "", met))
    if options.json:
        for cell in cells:
            print(json.dumps(asdict(cell)))
        return
    heads = ("cell", "ours", "peer", "unit", "ratio", "goal", "met")
    lines = [
        (
            each.cell,
            each.ours,
            f"{each.peer:.3g}" if each.peer else "-",
            each.unit,
            f"{each.ratio:.2f}" if each.ratio else "-",
            each.goal,
            "" if each.met is None else "yes" if each.met else "NO",
        )
        for each in cells
    ]
    print(rendered(heads, lines))


def timed(model: BenchModel, rows: int, peer: Path, options: argparse.Namespace) -> list[Cell]:
    """The server and the bare plugin beside onnxruntime at one batch size, in turns."""
    inputs = model.inputs(np.random.default_rng(rows), rows)
    plugin = plugin_call(model, rows, inputs, options)
    session = onnxruntime_call(peer, inputs)
    asked = AskedModel(options.http_port, model.name, inputs)
    same_numbers(model, plugin(), session())
    calls: dict[str, Callable[[], object]] = {
        "plugin": plugin,
        "server": asked.ask,
        "onnxruntime": session,
    }
    took = take_turns(calls, QUICK_ROUNDS if options.quick else ROUNDS)
    is_best = rows == max(model.batch_sizes)
    what = f"{model.name} x{rows}"
    goal = AT_ONE if rows == 1 else AT_BEST
    cells = [
        ratio_cell(f"{what}, {ours} / onnxruntime", took[ours], took["onnxruntime"], goal)
        for ours in ("plugin", "server")
    ]
    if is_best:
        seconds = QUICK_SECONDS if options.quick else THROUGHPUT_SECONDS
        cells.append(throughput(what, model, rows, inputs, plugin, options.http_port, seconds))
    asked.close()
    return cells


def plugin_call(
    model: BenchModel, rows: int, inputs: dict[str, np.ndarray], options: argparse.Namespace
) -> Callable[[], list[np.ndarray]]:
    """Runs the program that is served, with its weights on the device."""
    bundle = StoredBundle(options.folder / "models" / model.name)
    (key,) = [each for each in bundle.contract.programs() if (each.batch or 1) == rows]
    program = bundle.executable(key, options.plugin)
    held = program.put(list(bundle.weights.values()))
    given = [inputs[spec.name] for spec in bundle.contract.inputs]
    return lambda: program.call([*program.put(given), *held])


def onnxruntime_call(file: Path, inputs: dict[str, np.ndarray]) -> Callable[[], list[np.ndarray]]:
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = THREADS
    settings.inter_op_num_threads = 1
    settings.log_severity_level = 3
    session = onnxruntime.InferenceSession(file, settings, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, inputs)


def same_numbers(model: BenchModel, ours: list[np.ndarray], theirs: list[np.ndarray]) -> None:
    """Who is fast and wrong is not timed."""
    for mine, other in zip(ours, theirs, strict=True):
        if mine.dtype.kind != "f" or mine.shape != np.shape(other):
            continue
        worst = np.abs(mine - other).max() / max(1.0, float(np.abs(other).max()))
        if not worst <= TOLERANCE:
            raise SystemExit(f"{model.name}: an output differs by {worst:.2g} of its largest value")


def ratio_cell(cell: str, ours: list[float], peer: list[float], goal: float) -> Cell:
    ratio = statistics.median(a / b for a, b in zip(ours, peer, strict=True))
    mine, other = (statistics.median(each) * 1e3 for each in (ours, peer))
    return Cell(cell, mine, other, "ms", ratio, f"<= {goal}", ratio <= goal)


def throughput(
    what: str,
    model: BenchModel,
    rows: int,
    inputs: dict[str, np.ndarray],
    plugin: Callable[[], object],
    port: int,
    seconds: float,
) -> Cell:
    """Rows a second at the server, asked by two at a time, beside the plugin one call after another."""
    ours, peer = [], []
    for _ in range(3):
        peer.append(rate(lambda: plugin, 1, seconds) * rows)
        ours.append(rate(lambda: AskedModel(port, model.name, inputs).ask, THREADS, seconds) * rows)
    ratio = statistics.median(a / b for a, b in zip(ours, peer, strict=True))
    cell = f"{what}, server / plugin"
    mine, other = statistics.median(ours), statistics.median(peer)
    return Cell(cell, mine, other, "rows/s", ratio, f">= {OF_PLUGIN}", ratio >= OF_PLUGIN)


def rate(make: Callable[[], Callable[[], object]], threads: int, seconds: float) -> float:
    """Calls a second, by so many threads, each with a callable of its own."""
    done = [0] * threads
    calls = [make() for _ in range(threads)]
    end = time.perf_counter() + seconds

    def work(number: int) -> None:
        while time.perf_counter() < end:
            calls[number]()
            done[number] += 1

    began = time.perf_counter()
    working = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for each in working:
        each.start()
    for each in working:
        each.join()
    return sum(done) / (time.perf_counter() - began)


if __name__ == "__main__":
    main()
