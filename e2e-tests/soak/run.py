"""One soak, as a program: ``python -m soak.run FOLDER SECONDS SEED [--own-machine]``; exit code 1 after violations.

``--own-machine``: it has a network, mounts and processes of its own, in which links may be cut and disks be full.
"""

import argparse
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from faults import now
from soak import clocks, measures
from soak.callers import Callers
from soak.clocks import Clocks
from soak.history import WHOLE_SECONDS, Checker, Happened, Spell
from soak.measures import Held
from soak.nemesis import DAMAGES, Nemesis
from soak.plan import KINDS, Episode, Plan, plan
from soak.report import Report
from soak.system import System
from worker_process import wait_until

WARM_SECONDS = 10
IDLE_SECONDS = 3
BACK_SECONDS = 60
DISK_MEBIBYTES = 64
NOT_ALONE = "takes root, for networks and mounts of its own"
ERROR = re.compile(r"\bERROR\b")
# Lines of ERROR that faults cause, each with its reason.
EXPECTED_ERRORS = {
    r"the engine fails and stops": "a device that hangs ends its worker, which says so",
    r"the process exits with code 70": "the same",
    r"a run on the device has taken": "the same",
    rf"model '({'|'.join(DAMAGES)})' failed to load": "a damaged bundle, which is named with what is wrong with it",
    r"stepped_clock\.so' from LD_PRELOAD cannot be preloaded": "a compiler is confined, and has the machine's clock",
    r"IO failure while writing to file .*audit.*No space left on device": "a full disk, as the audit's writer says",
}


class Soak:
    def __init__(self, folder: Path, planned: Plan, own_machine: bool) -> None:
        self.plan = planned
        self.whys = {} if own_machine else {"partition": NOT_ALONE, "full disk": NOT_ALONE}
        disk = folder / "disk"
        disk.mkdir()
        if own_machine:
            size = f"size={DISK_MEBIBYTES}m"
            subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(disk)], check=True)
        if why := clocks.why_not():
            self.whys["clock step"] = why
        stepped = None if why else Clocks(folder / "clocks")
        self.foreign = measures.shared_objects()
        self.system = System(folder, disk, stepped.before if stepped else [])
        addresses = lambda: (self.system.grpc, self.system.http)  # noqa: E731
        self.callers = Callers(folder / "histories", planned.seed, planned.traffic, addresses)
        self.nemesis = Nemesis(self.system, self.callers, stepped, self.whys)
        self.spells: list[Spell] = []
        self.problems = self.nemesis.problems

    def run(self) -> Report:
        self.nemesis.write_token()
        say(f"starts {len(list(self.system.repository.iterdir()))} models, two workers and two gateways")
        self.system.start()
        self.nemesis.prepare()
        self.callers.start()
        self.callers.go()
        time.sleep(WARM_SECONDS)
        self.callers.rest()
        time.sleep(IDLE_SECONDS)
        before = self.held()
        objects = measures.shared_objects()
        self.callers.go()
        began = now()
        self.faults(began)
        seconds = now() - began
        self.callers.rest()
        self.callers.close()
        lines = self.compare(before, objects)
        self.check_ends()
        self.system.stop()
        if left := measures.shared_objects() - self.foreign:
            self.problems.append(f"objects of shared memory are left when the node has stopped: {sorted(left)}")
        self.check_logs()
        return self.report(seconds, lines)

    def faults(self, began: float) -> None:
        with ThreadPoolExecutor(2) as pool:
            for number, episode in enumerate(self.plan.episodes, 1):
                if now() - began > self.plan.seconds:
                    say(f"the time is over; {len(self.plan.episodes) - number + 1} episodes are left out")
                    return
                self.episode(number, episode, pool)

    def episode(self, number: int, episode: Episode, pool: ThreadPoolExecutor) -> None:
        began = now()

        def inflict(index: int) -> Happened | None:
            fault = episode.faults[index]
            time.sleep(fault.after)
            return self.nemesis.inflict(fault)

        happened = tuple(filter(None, pool.map(inflict, range(len(episode.faults)))))
        try:
            wait_until(self.system.is_whole, 2 * WHOLE_SECONDS, "the node is whole again")
        except AssertionError as late:
            self.problems.append(f"episode {number}, {'; '.join(map(str, episode.faults))}: {late}")
        if happened:
            self.spells.append(Spell(happened, began, now()))
            ended = max(fault.ended for fault in happened)
            faults = "; ".join(map(str, episode.faults))
            say(f"{number:4}. {faults}: took {ended - began:.1f} s, whole {now() - ended:.1f} s later")
        time.sleep(episode.quiet)

    def held(self) -> dict[str, Held]:
        return {name: measures.held(pid) for name, pid in self.system.pids().items()}

    def compare(self, before: dict[str, Held], objects: set[str]) -> list[str]:
        """Waits for a while until everything is as it was, and names what is not."""

        def grown() -> list[str]:
            after = self.held()
            found = [f"{name} does not run" for name in before.keys() - after.keys()]
            for name in before.keys() & after.keys():
                found += measures.growth(name, before[name], after[name])
            count = len(measures.shared_objects())
            return found + (
                [f"{count} objects of shared memory, before {len(objects)}"] if count > len(objects) else []
            )

        try:
            wait_until(lambda: not grown(), BACK_SECONDS, "everything is as before")
        except AssertionError:
            self.problems += grown()
        after = self.held()
        return [f"{name}: {before[name]}; at the end {after.get(name, 'gone')}" for name in before]

    def check_ends(self) -> None:
        for name, restarts in self.system.restarts().items():
            if restarts != self.nemesis.ended[name]:
                self.problems.append(f"{name} ended {restarts} times, by faults {self.nemesis.ended[name]} times")
        if (code := self.system.second.process.poll()) is not None:
            self.problems.append(f"gateway1 ended by itself with exit code {code}")

    def check_logs(self) -> None:
        for log, line in self.system.logs():
            if ERROR.search(line) and not any(re.search(each, line) for each in EXPECTED_ERRORS):
                self.problems.append(f"{log}: {line[:300]}")

    def report(self, seconds: float, lines: list[str]) -> Report:
        checker = Checker(self.spells, self.nemesis.generations)
        for path in self.callers.histories():
            with path.open() as written:
                checker.read(written)
        for problem in self.problems:
            checker.verdict.violate(problem, [kind.name for kind in KINDS if problem.startswith(kind.name)])
        return Report(self.plan, checker.verdict, seconds, self.whys, lines)


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("seconds", type=float)
    parser.add_argument("seed", type=int)
    parser.add_argument("--own-machine", action="store_true")
    options = parser.parse_args()
    planned = plan(options.seed, options.seconds)
    (options.folder / "plan.json").write_text(planned.to_json())
    print("\n".join(planned.lines()), flush=True)
    soak = Soak(options.folder, planned, options.own_machine)
    try:
        report = soak.run()
    finally:
        soak.callers.close()
        soak.system.close()
    text = "\n".join(report.lines())
    (options.folder / "report.md").write_text(text + "\n")
    print(f"\n{text}", flush=True)
    return 1 if report.verdict.count else 0


if __name__ == "__main__":
    sys.exit(main())
