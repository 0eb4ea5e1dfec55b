"""Prints, as Markdown, how many of ONNX's own node tests each operator passes.

``python -m roundhouse_export.onnx_graph.coverage``; ``--failures`` prints what does not pass and
why, in the form of ``tests/onnx_node_failures.txt``.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable

from roundhouse_export.onnx_graph.node_cases import Outcome, left_out, load_cases, run_case


def table(outcomes: Iterable[Outcome], excluded: Counter[str]) -> str:
    """Returns one row per operator, and what was left out."""
    by_operator: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_operator[outcome.operator].append(outcome)
    lines = ["| operator | passed | of | only with shapes known at export |", "|---|---|---|---|"]
    for name in sorted(by_operator):
        held = by_operator[name]
        passed = [each for each in held if not each.failure]
        known = sum(each.known_inputs for each in passed)
        lines.append(f"| {name} | {len(passed)} | {len(held)} | {known or ''} |")
    every = [each for held in by_operator.values() for each in held]
    passed_all = sum(not each.failure for each in every)
    lines += ["", f"{passed_all} of {len(every)} pass ({passed_all / max(len(every), 1):.1%})."]
    lines += [f"Left out: {count} of {why}." for why, count in sorted(excluded.items())]
    return "\n".join(lines)


def main(arguments: list[str]) -> None:
    cases = load_cases()
    excluded = Counter(why for why in map(left_out, cases) if why)
    outcomes = [run_case(case) for case in cases if not left_out(case)]
    if "--failures" in arguments:
        for each in sorted((each for each in outcomes if each.failure), key=lambda e: e.name):
            print(f"{each.name}: {each.failure}")
    else:
        print(table(outcomes, excluded))


if __name__ == "__main__":
    main(sys.argv[1:])
