"""Node tests that the ``onnx`` package carries, against the lists of what becomes of them.

``ROUNDHOUSE_EXPORT_TESTS=all`` (``./roundhouse test --import``) runs each of them; otherwise one in
eight, which are the same in every run.
"""

import os
from pathlib import Path

from coverage_page import page
from node_lists import cases, failures, with_known_inputs, write_known_inputs
from thinning import ALL

from roundhouse_export.onnx_graph.node_cases import left_out, run_case

LEAST_SHARE = 0.9
STEP = 1 if ALL else 8
PAGE = Path(__file__).parents[3] / "docs" / "import-coverage.md"
UPDATE = os.environ.get("ROUNDHOUSE_UPDATE_DOCS") == "1"
COMMAND = "ROUNDHOUSE_UPDATE_DOCS=1 python -m pytest tests/test_onnx_nodes.py"


def test_should_pass_every_node_test_but_those_listed() -> None:
    listed = failures()
    counted = sorted((case for case in cases() if not left_out(case)), key=lambda case: case.name)
    chosen = counted[::STEP]
    outcomes = [run_case(case) for case in chosen]
    failed = {each.name: each.failure for each in outcomes if each.failure}
    new = {name: why for name, why in failed.items() if name not in listed}
    assert not new, "fail and are not in the list"
    run = {case.name for case in chosen}
    assert not sorted(set(listed) & run - set(failed)), "are in the list and pass"
    assert len(failed) <= (1 - LEAST_SHARE) * len(outcomes)
    known = {each.name for each in outcomes if each.known_inputs and not each.failure}
    if ALL and UPDATE:
        write_known_inputs(known)
    assert with_known_inputs() & run == known, (
        f"list them anew: ROUNDHOUSE_EXPORT_TESTS=all {COMMAND}"
    )


def test_should_have_a_page_of_what_is_covered_that_is_current() -> None:
    made = page()
    if UPDATE:
        PAGE.write_text(made)
    assert PAGE.read_text() == made, f"write it anew: {COMMAND}"
