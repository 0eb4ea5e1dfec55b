"""``python -m torch_architectures [--results FILE] [--page FILE] [--only NAME]``.

Each architecture has a process and a time limit of its own. What is in FILE is not tried again, so
an interrupted run goes on where it was.
"""

import argparse
import json
import multiprocessing.connection
import os
import sys
from dataclasses import asdict
from pathlib import Path

from torch_architectures.catalogue import Architecture, catalogue
from torch_architectures.page import page
from torch_architectures.trial import Outcome, attempt

_LIMIT_SECONDS = 300


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m torch_architectures")
    parser.add_argument("--results", type=Path, default=Path("torch-architectures.jsonl"))
    parser.add_argument("--page", type=Path, help="write the table there, as Markdown")
    parser.add_argument("--plugin", type=Path, default=os.environ.get("ROUNDHOUSE_TEST_PLUGIN"))
    parser.add_argument("--only", help="those whose name has this in it", default="")
    parser.add_argument("--at-least", type=int, default=0, help="fail when fewer are converted")
    options = parser.parse_args()
    every = catalogue()
    for number, each in enumerate(every, 1):
        if options.only not in each.key or each.key in _read(options.results):
            continue  # which another run of this may have written meanwhile
        outcome = _in_a_process(each, options.plugin)
        with options.results.open("a") as file:
            file.write(json.dumps({"key": each.key, **asdict(outcome)}) + "\n")
        said = outcome.refusal or f"{outcome.way}, {outcome.error:.1e}"
        print(f"{number}/{len(every)} {each.key}: {said}", file=sys.stderr, flush=True)
    done = _read(options.results)
    if options.page:
        options.page.write_text(page(every, done))
    converted = sum(not done[each.key].refusal for each in every if each.key in done)
    print(f"{converted} of {len(every)} converted")
    return 0 if converted >= options.at_least else 1


def _read(results: Path) -> dict[str, Outcome]:
    if not results.exists():
        return {}
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    return {line.pop("key"): Outcome(**line) for line in lines}


def _in_a_process(architecture: Architecture, plugin: Path | None) -> Outcome:
    """What was imported is there already; JAX has not been started, so a fork is safe."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_send, args=(theirs, architecture, plugin))
    child.start()
    theirs.close()
    try:
        if not ours.poll(_LIMIT_SECONDS):
            return Outcome(refusal=f"took more than {_LIMIT_SECONDS} s")
        outcome: Outcome = ours.recv()
        return outcome
    except EOFError:
        child.join()
        return Outcome(refusal=f"the process ended with code {child.exitcode}")
    finally:
        child.kill()
        child.join()


def _send(connection: "multiprocessing.connection.Connection", *arguments: object) -> None:
    connection.send(attempt(*arguments))  # type: ignore[arg-type]


if __name__ == "__main__":
    sys.exit(main())
