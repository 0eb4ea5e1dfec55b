"""Processes of callers, told when to go and when to rest."""

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from soak.plan import Traffic
from worker_process import ROOT

REST_SECONDS = 60


class Program:
    """``soak.traffic`` in a process of its own."""

    def __init__(self, *arguments: object) -> None:
        command = [sys.executable, "-m", "soak.traffic", *map(str, arguments)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT / "e2e-tests"
        )

    def go(self) -> None:
        print("go", file=self.process.stdin, flush=True)

    def rest(self) -> None:
        print("rest", file=self.process.stdin, flush=True)

    def await_rest(self) -> None:
        line = self.process.stdout.readline()
        assert line == "resting\n", f"callers have ended: {line!r}, exit code {self.process.poll()}"

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(REST_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class Callers:
    """One process for each kind, from construction to ``close``; its history has the kind's name."""

    def __init__(self, folder: Path, seed: int, traffic: Traffic, addresses: Callable[[], tuple[list[str], list[str]]]):
        self.folder, self._seed, self._traffic, self._addresses = folder, seed, traffic, addresses
        folder.mkdir()
        self._programs: list[Program] = []

    def start(self) -> None:
        first = 0
        for kind, count in self._traffic.callers.items():
            self._programs.append(self._program(kind, first, count, kind))
            first += count

    def _program(self, kind: str, first: int, count: int, name: str, only: int | None = None) -> Program:
        grpc, http = self._addresses()
        traffic = self._traffic
        gateways = (0, 1) if only is None else (only, only)
        places = [",".join(each[gateway] for gateway in gateways) for each in (grpc, http)]
        return Program(
            self.folder / name,
            self._seed,
            first,
            kind,
            count,
            traffic.pause,
            traffic.deadline,
            traffic.cancelled_share,
            ",".join(f"gateway{gateway}" for gateway in gateways),
            *places,
        )

    def go(self) -> None:
        for program in self._programs:
            program.go()

    def rest(self) -> None:
        """Returns once no request is open."""
        for program in self._programs:
            program.rest()
        for program in self._programs:
            program.await_rest()

    @contextmanager
    def burst(self, kind: str, first: int, count: int, gateway: str, name: str) -> Iterator[None]:
        """Further callers, of one gateway, for as long as the block lasts."""
        program = self._program(kind, first, count, name, only=int(gateway[-1]))
        try:
            program.go()
            yield
            program.rest()
            program.await_rest()
        finally:
            program.close()

    def histories(self) -> list[Path]:
        return sorted(self.folder.iterdir())

    def close(self) -> None:
        for program in self._programs:
            program.close()
