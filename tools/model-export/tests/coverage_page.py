"""Makes ``docs/import-coverage.md``, which says what operators and estimators are known.

Made from the registries, and from the lists that ``test_onnx_nodes`` holds to what happens.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from node_lists import cases, failures, with_known_inputs
from onnx import defs

from roundhouse_export.estimators.registry import translators
from roundhouse_export.onnx_graph import operators  # noqa: F401 - registers them
from roundhouse_export.onnx_graph.node_cases import left_out, operator_of
from roundhouse_export.onnx_graph.registry import ML, is_known, refusals

HEAD = """\
# What import covers

Generated from the exporter's registries and from what ONNX's own node tests come to; a test fails
when this page is stale, and in `tools/model-export`
`ROUNDHOUSE_UPDATE_DOCS=1 python -m pytest tests/test_onnx_nodes.py` rewrites it, with
`ROUNDHOUSE_EXPORT_TESTS=all` also the list of tests that need inputs known at export.
How models are imported: [import.md](import.md).
"""
_DOMAIN = ""
_PACKAGES = {"sklearn": "scikit-learn", "xgboost": "XGBoost", "lightgbm": "LightGBM"}


@dataclass
class Count:
    """Node tests of one operator; ``known`` pass with inputs known at export only."""

    passed: int = 0
    of: int = 0
    known: int = 0


def page() -> str:
    failed, known = failures(), with_known_inputs()
    out: Counter[str] = Counter()
    counts: dict[str, Count] = defaultdict(Count)
    for case in cases():
        why = left_out(case)
        if why:
            out[why] += 1
            continue
        count = counts[operator_of(case)]
        count.of += 1
        count.passed += case.name not in failed
        count.known += case.name in known
    parts = [
        HEAD,
        _node_tests(counts, out, failed),
        _operators("ai.onnx", _DOMAIN, counts),
        _operators(ML, ML, counts),
        _estimators(),
    ]
    return "\n".join(parts)


def _node_tests(
    counts: Mapping[str, Count], out: Mapping[str, int], failed: Mapping[str, str]
) -> str:
    of = sum(each.of for each in counts.values())
    passed = sum(each.passed for each in counts.values())
    known = sum(each.known for each in counts.values())
    text = (
        "## ONNX's node tests\n\n"
        f"Of {of + sum(out.values())} node tests that the `onnx` package carries, {of} count and "
        f"{passed} pass ({passed / of:.1%}), {known} of them only with inputs known at export, "
        "such as the shape that a reshape is told.\n\n"
    )
    text += _table(("not counted", "tests"), sorted(out.items()))
    reasons = Counter(failed.values())
    text += "\n" + _table(
        ("does not pass, because", "tests"), sorted(reasons.items(), key=lambda e: (-e[1], e[0]))
    )
    for what in ("written out from functions", "several operators"):
        if what in counts:
            each = counts[what]
            text += f"\n{each.passed} of {each.of} tests of nodes {what} pass."
    return text + "\n"


def _operators(title: str, domain: str, counts: Mapping[str, Count]) -> str:
    """Operators of the newest set; one without code here may be made of others by ONNX itself."""
    rows = []
    missing = []
    refused = []
    whys = refusals(domain)
    for name, schema in sorted(_newest(domain).items()):
        if schema.deprecated:
            continue
        has_body = schema.has_function or schema.has_context_dependent_function
        if name in whys:
            refused.append((f"`{name}`", whys[name]))
        elif is_known(domain, name) or (has_body and "Sequence" not in name):
            count = counts.get(name, Count())
            cells = (count.passed, count.of, count.known or "") if count.of else ("", "", "")
            others = "" if is_known(domain, name) else " (by others)"
            rows.append((f"`{name}`{others}", *cells))
        else:
            missing.append(f"`{name}`")
    heads = ("operator", "node tests passed", "of", "only with inputs known at export")
    text = f"## Operators of `{title}`\n\n" + _table(heads, rows)
    text += "\n" + _table(("refused", "because"), refused)
    return text + f"\nNot known, and refused by name: {', '.join(missing) or 'none'}.\n"


def _newest(domain: str) -> dict[str, defs.OpSchema]:
    found: dict[str, defs.OpSchema] = {}
    for schema in defs.get_all_schemas_with_history():
        known = found.get(schema.name)
        if schema.domain == domain and (
            known is None or known.since_version < schema.since_version
        ):
            found[schema.name] = schema
    return found


def _estimators() -> str:
    by_package: dict[str, list[str]] = defaultdict(list)
    for package, name in translators():
        by_package[package].append(name)
    rows = [
        (_PACKAGES[package], len(names), ", ".join(f"`{each}`" for each in sorted(names)))
        for package, names in sorted(by_package.items(), key=lambda each: -len(each[1]))
    ]
    return "## Estimators\n\n" + _table(("package", "classes", ""), rows)


def _table(heads: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    heads = list(heads)
    lines = [f"| {' | '.join(map(str, line))} |\n" for line in (heads, *rows)]
    return "".join([lines[0], f"|{'---|' * len(heads)}\n", *lines[1:]])
