"""What rules and dashboards of ``helm/roundhouse/files/observe`` ask Prometheus, and what ``docs/metrics.md`` has."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from worker_process import ROOT

OBSERVE = ROOT / "helm" / "roundhouse" / "files" / "observe"
RULES = OBSERVE / "rules.yaml"
DASHBOARDS = sorted((OBSERVE / "dashboards").glob("*.json"))
# what scrapes add; a worker behind a node or a gateway has the last two
ADDED = {"job", "instance", "namespace", "pod", "worker", "process"}
ROW = re.compile(r"^\| `(\w+)` \| (\w+) \|[^|]*\| ([^|]*) \|", re.MULTILINE)
SETS = re.compile(r"\b(?:by|on|without|ignoring|group_left|group_right)\s*\(([^)]*)\)")
# a name that is not called, and its selector; the name is not given back in part
SELECTED = re.compile(r"\b([A-Za-z_:][\w:]*+)(?!\s*\()(?:\{([^}]*)\})?")
WORDS = {"and", "or", "unless", "bool", "offset"}
MATCHER = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)")
QUERY = re.compile(r"label_values\((.*), (\w+)\)")


@dataclass(frozen=True)
class Expression:
    where: str
    text: str

    def selected(self) -> Iterator[tuple[str, set[str]]]:
        """Series by name, each with the labels that it is chosen by."""
        text = re.sub(r"\[[^]]*\]", "", SETS.sub("", self.text))
        for name, matchers in SELECTED.findall(text):
            if name not in WORDS:
                yield name, set(MATCHER.findall(matchers))

    def grouped(self) -> set[str]:
        return {label.strip() for labels in SETS.findall(self.text) for label in labels.split(",")}

    def asked(self, interval: str) -> str:
        """As Grafana asks it when all of everything is chosen."""
        text = self.text.replace("$__rate_interval", interval)
        return re.sub(r"\$(job|instance|worker|model)\b", ".*", text)


def rules() -> list[dict]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def alerts() -> list[dict]:
    return [rule for rule in rules() if "alert" in rule]


def dashboard(file: Path) -> dict:
    return json.loads(file.read_text())


def ruled() -> list[Expression]:
    return [Expression(rule.get("alert") or rule["record"], rule["expr"]) for rule in rules()]


def drawn(file: Path) -> list[Expression]:
    return [
        Expression(f"{file.stem}, {panel['title']}, {target['refId']}", target["expr"])
        for panel in dashboard(file)["panels"]
        for target in panel["targets"]
    ]


def offered(file: Path) -> list[tuple[Expression, str]]:
    """What fills a dashboard's variables, each with the label that it lists."""
    variables = dashboard(file)["templating"]["list"]
    found = [QUERY.fullmatch(each["definition"]) for each in variables if each["type"] == "query"]
    return [(Expression(f"{file.stem}, ${match[2]}", match[1]), match[2]) for match in found]


@cache
def told() -> dict[str, set[str]]:
    """Every series that docs/metrics.md has, and those that the rules record, with their labels."""
    found: dict[str, set[str]] = {"up": set()}
    for name, kind, labels in ROW.findall((ROOT / "docs" / "metrics.md").read_text()):
        own = set(re.findall(r"`(\w+)`", labels))
        found[name] = found.get(name, set()) | own
        if kind == "histogram":
            found |= {f"{name}_bucket": own | {"le"}, f"{name}_sum": own, f"{name}_count": own}
    for rule in rules():
        if "record" in rule:
            found[rule["record"]] = Expression(rule["record"], rule["expr"]).grouped() - {"le"}
    return found


def strange(scrape: str) -> set[str]:
    """Series that docs/metrics.md has not, or not with those labels, and that it does not say of a library."""
    page = (ROOT / "docs" / "metrics.md").read_text()
    others = re.findall(r"`([\w*]+)`", page.split("Libraries add series of their own:")[1].split(".\n")[0])
    libraries = tuple(name.removesuffix("*") for name in others)

    def is_told(sample: Sample) -> bool:
        own = sample.name in told() and sample.labels.keys() <= told()[sample.name] | ADDED
        return own or sample.name.startswith(libraries)

    samples = [sample for family in text_string_to_metric_families(scrape) for sample in family.samples]
    assert samples
    return {f"{sample.name} {sorted(sample.labels)}" for sample in samples if not is_told(sample)}
