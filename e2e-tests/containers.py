"""Containers of the images that ``./roundhouse test --images`` builds, by the command ``docker``."""

import json
import subprocess
from pathlib import Path

from worker_process import wait_until

READY_SECONDS = 600
HTTP, GRPC, METRICS, NODE = 8000, 8001, 8002, 8003
HARDENED = ("--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--tmpfs=/tmp:size=256m,mode=1777")


def docker(*arguments: str, check: bool = True, seconds: float = 120) -> str:
    result = subprocess.run(["docker", *arguments], capture_output=True, text=True, timeout=seconds)
    said = f"{result.stdout[-2000:]}\n{result.stderr}"
    assert not check or result.returncode == 0, f"docker {' '.join(arguments)}: {said}"
    return result.stdout.strip()


class Container:
    """Runs from construction to ``close``, when what it leaves is removed too."""

    def __init__(
        self, image: str, models: Path | None = None, options: tuple[str, ...] = (), arguments: tuple[str, ...] = ()
    ) -> None:
        ports = [f"--publish=127.0.0.1::{port}" for port in (HTTP, GRPC, METRICS, NODE)]
        mounts = [] if models is None else [f"--volume={models}:/models:ro"]
        command = ("run", "--detach", *HARDENED, *ports, *mounts, *options, image, *arguments)
        self.id = docker(*command)

    def port(self, inside: int) -> int:
        return int(docker("port", self.id, str(inside)).splitlines()[0].rpartition(":")[2])

    def address(self, inside: int) -> str:
        return f"127.0.0.1:{self.port(inside)}"

    def inspect(self) -> dict:
        return json.loads(docker("inspect", self.id))[0]

    def log(self) -> str:
        result = subprocess.run(["docker", "logs", self.id], capture_output=True, text=True, timeout=60)
        return result.stdout + result.stderr

    def is_running(self) -> bool:
        return self.inspect()["State"]["Running"]

    def await_ready(self) -> "Container":
        def is_ready() -> bool:
            assert self.is_running(), f"the container ended: {self.log()}"
            return any(line.startswith("ready ") for line in self.log().splitlines())

        wait_until(is_ready, READY_SECONDS, "the line 'ready ...'")
        return self

    def execute(self, *command: str) -> str:
        return docker("exec", self.id, *command)

    def cpu_seconds(self) -> float:
        """Of its first process so far."""
        fields = self.execute("cat", "/proc/1/stat").rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100

    def stop(self, seconds: int) -> int:
        """SIGTERM, SIGKILL after so long; returns the exit code."""
        docker("stop", f"--time={seconds}", self.id, seconds=seconds + 60)
        return self.inspect()["State"]["ExitCode"]

    def close(self) -> None:
        docker("rm", "--force", "--volumes", self.id, check=False)
