"""``docker compose`` with docker/compose.yaml, as docs/images.md has it, in projects of their own."""

import json
import os
import re
import secrets
import socket
import subprocess
from pathlib import Path

import pytest

from client_tools import need
from containers import GRPC, HTTP, METRICS, NODE, docker
from unused_ports import unused_ports
from worker_process import ROOT

FILE = "docker/compose.yaml"  # from ROOT, as users are told to
UP = ("up", "--detach", "--wait", "--wait-timeout=600")  # as docs/images.md has it
UP_SECONDS = 660
PORTS = {
    "ROUNDHOUSE_HTTP_PORT": HTTP,
    "ROUNDHOUSE_GRPC_PORT": GRPC,
    "ROUNDHOUSE_METRICS_PORT": METRICS,
    "ROUNDHOUSE_NODE_PORT": NODE,
}


def variables() -> set[str]:
    """All that the file reads."""
    return set(re.findall(r"\$\{(\w+)", (ROOT / FILE).read_text()))


def need_compose() -> None:
    """A skip that says why there is none."""
    if subprocess.run([need("docker"), "compose", "version"], capture_output=True, timeout=60).returncode != 0:
        pytest.skip(os.environ.get("ROUNDHOUSE_E2E_NO_COMPOSE") or "there is no 'docker compose' on this machine")


def need_init(image: str) -> None:
    """A skip where the engine cannot do what ``init: true`` says."""
    command = ["docker", "run", "--rm", "--init", "--network=none", "--entrypoint=true", image]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if "docker-init" in done.stderr:
        pytest.skip(
            "the engine has no docker-init, which docker/compose.yaml's 'init: true' needs: Debian's package tini"
        )
    assert done.returncode == 0, done.stderr


def free_ports() -> dict[str, str]:
    """Variables by which nothing is published where somebody listens."""
    return {name: str(port) for name, port in zip(PORTS, unused_ports(len(PORTS)), strict=True)}


def usual_ports() -> dict[str, str]:
    """None but where one of those that the file names is taken."""
    for port in PORTS.values():
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            return free_ports()
    return {}


class Project:
    """Has a name, variables and files beside the one of its own; ``close`` removes all that it left."""

    def __init__(self, *files: Path, **given: str) -> None:
        self.name = f"roundhouse-e2e-{secrets.token_hex(4)}"
        self.given = given
        self._files = [argument for file in (FILE, *files) for argument in ("-f", str(file))]

    def run(self, *arguments: str, seconds: float = 120) -> subprocess.CompletedProcess[str]:
        command = ["docker", "compose", *self._files, "-p", self.name, *arguments]
        others = {name: value for name, value in os.environ.items() if name not in variables()}
        return subprocess.run(
            command, capture_output=True, text=True, timeout=seconds, cwd=ROOT, env=others | self.given
        )

    def do(self, *arguments: str, seconds: float = 120) -> str:
        done = self.run(*arguments, seconds=seconds)
        said = f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
        assert done.returncode == 0, f"docker compose {' '.join(arguments)}: {said}\n{self.log()}"
        return done.stdout.strip()

    def up(self) -> "Project":
        self.do(*UP, seconds=UP_SECONDS)
        return self

    def config(self) -> dict:
        """What compose makes of the file and the variables; it takes no engine."""
        done = self.run("config", "--format", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def address(self, inside: int) -> str:
        return self.do("port", "node", str(inside))

    def execute(self, *command: str) -> str:
        return self.do("exec", "-T", "node", *command)

    def inspect(self) -> dict:
        return json.loads(docker("inspect", self.do("ps", "--all", "--quiet", "node")))[0]

    def health(self) -> str:
        return self.inspect()["State"]["Health"]["Status"]

    def log(self) -> str:
        done = self.run("logs", "--no-log-prefix", "--tail=200", "node")
        return done.stdout + done.stderr

    def left(self) -> list[str]:
        """Containers, networks and volumes of this project."""
        mine = ("--quiet", "--filter", f"label=com.docker.compose.project={self.name}")
        kinds = (("container", "--all"), ("network",), ("volume",))
        return [f"{kind} {name}" for kind, *all_ in kinds for name in docker(kind, "ls", *all_, *mine).splitlines()]

    def close(self) -> None:
        self.run("down", "--volumes", "--timeout=1")
