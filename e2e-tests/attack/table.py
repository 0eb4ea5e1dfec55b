"""What came of each attack, as one table."""

from dataclasses import dataclass, field

from attack.others import HEALTH, INFER, LIVE, Felt

HEAD = (
    "row",
    "target",
    "process: peak/limit MiB (growth, held)",
    "ended",
    *(f"{kind} p50/p99 ms" for kind in (INFER, LIVE, HEALTH)),
    "errors of others",
    "back after",
    "attacker",
)


@dataclass
class Outcome:
    row: str
    target: str
    peaks: dict[str, int] = field(default_factory=dict)
    limits: dict[str, int] = field(default_factory=dict)
    growth: dict[str, int] = field(default_factory=dict)
    held: dict[str, int | None] = field(default_factory=dict)
    ended: dict[str, int] = field(default_factory=dict)
    before: Felt = field(default_factory=Felt)
    during: Felt = field(default_factory=Felt)
    holding: Felt = field(default_factory=Felt)
    after: Felt = field(default_factory=Felt)
    recovery: float | None = None
    attacker: dict[str, int] = field(default_factory=dict)

    def cells(self) -> list[str]:
        memory = []
        for name, peak in self.peaks.items():
            held = self.held.get(name)
            said = "-" if held is None else mebibytes(held)
            memory.append(
                f"{name}: {mebibytes(peak)}/{mebibytes(self.limits[name])} (+{mebibytes(self.growth[name])}, {said})"
            )
        latencies = [
            " > ".join(
                f"{felt.percentile(kind, 50) * 1e3:.1f}/{felt.percentile(kind, 99) * 1e3:.1f}"
                for felt in (self.before, self.during, self.holding, self.after)
            )
            for kind in (INFER, LIVE, HEALTH)
        ]
        return [
            self.row,
            self.target,
            "; ".join(memory),
            ", ".join(f"{name} {code}" for name, code in self.ended.items()) or "no",
            *latencies,
            ", ".join(f"{count} {what}" for what, count in self.during.errors.items()) or "none",
            "-" if self.recovery is None else f"{self.recovery:.1f} s",
            ", ".join(f"{what} {count}" for what, count in self.attacker.items()),
        ]


def mebibytes(count: int) -> str:
    return f"{count / (1 << 20):.0f}"


def rendered(outcomes: list[Outcome]) -> list[str]:
    rows = [list(HEAD), *(outcome.cells() for outcome in outcomes)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
