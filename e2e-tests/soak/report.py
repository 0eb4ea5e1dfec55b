"""What came of a soak, in lines and as a table."""

from collections import Counter
from dataclasses import dataclass, field

from soak.history import Verdict
from soak.plan import Plan

HEAD = "| fault | injected | violations | served again after, s | whole again after, s |\n|---|---|---|---|---|"


@dataclass
class Report:
    plan: Plan
    verdict: Verdict
    seconds: float
    whys: dict[str, str]
    held: list[str] = field(default_factory=list)

    @property
    def violations(self) -> list[str]:
        more = self.verdict.count - len(self.verdict.violations)
        return self.verdict.violations + ([f"and {more} more"] if more else [])

    def lines(self) -> list[str]:
        found = [
            f"seed {self.plan.seed}, {self.seconds:.0f} s with faults, of {self.plan.seconds:.0f} s planned",
            "",
            HEAD,
        ]
        for kind, tally in self.verdict.tallies.items():
            if tally.injected:
                recovery = f"{tally.recovery:.1f}" if tally.recovery else "no call failed after it"
                found.append(f"| {kind} | {tally.injected} | {tally.violations} | {recovery} | {tally.whole:.1f} |")
            else:
                found.append(f"| {kind} | 0 | - | {self.whys.get(kind, 'none in this plan')} | - |")
        found += [
            "",
            f"{self.verdict.outcomes.total()} requests: {by_outcome(self.verdict.outcomes)}",
            "",
            *self.held,
            "",
        ]
        found += [f"{self.verdict.count} violations", *(f"- {each}" for each in self.violations)]
        return found


def by_outcome(outcomes: Counter[str]) -> str:
    """All of them, and for each outcome but OK whose they were."""
    totals: Counter[str] = Counter()
    for name, count in outcomes.items():
        totals[name.split()[1]] += count
    parts = []
    for outcome, count in totals.most_common():
        kinds = [f"{name.split()[0]} {n}" for name, n in outcomes.most_common() if name.split()[1] == outcome]
        parts.append(f"{count} {outcome} ({', '.join(kinds)})")
    return "; ".join(parts)
