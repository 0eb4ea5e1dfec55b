"""Prints how fast a node starts: ``ROUNDHOUSE_E2E_JAR=WORKER.jar python node_figures.py NODE.jar [ROUNDS]``.

Both jars are taken apart and run once to leave an AOT cache, as an image would; each round starts a supervisor with
one worker on the CPU and no models, and waits for ports. Nothing is asserted.
"""

import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from trained import java, trained
from worker_process import COMPILE_EVERYTHING, JVM_OPTIONS, Ports, free_ports, trained_worker, wait_until

NODE_OPTIONS = ("-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "--enable-native-access=ALL-UNNAMED")


def listens(port: int) -> bool:
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def since(start: float, port: int) -> float:
    while not listens(port):
        time.sleep(0.005)
    return time.monotonic() - start


class Node:
    def __init__(self, jar: Path, options: list[str], folder: Path) -> None:
        worker = trained_worker()
        self.ports: Ports = free_ports()
        self.node_port = free_ports().http
        self.log = folder / "log"
        models = folder / "models"
        models.mkdir(exist_ok=True)
        settings = {
            "roundhouse.node.devices.platform": "cpu",
            "roundhouse.node.ports.address": "127.0.0.1",
            "roundhouse.node.ports.grpc": self.ports.grpc,
            "roundhouse.node.ports.http": self.ports.http,
            "roundhouse.node.ports.metrics": self.ports.metrics,
            "roundhouse.node.ports.node": self.node_port,
            "roundhouse.node.worker.jar": worker.jar,
            "roundhouse.node.worker.jvm-options": ",".join([*JVM_OPTIONS, *worker.jvm]),
            "roundhouse.worker.repository.directories": models,
        }
        command = [java(), *NODE_OPTIONS, *options, "-jar", str(jar)]
        command += [f"--{key}={value}" for key, value in settings.items()]
        self.started = time.monotonic()
        with self.log.open("w") as out:
            command += ["--roundhouse.worker.scheduler.cost-file=none", COMPILE_EVERYTHING]
            self.process = subprocess.Popen(command, stdout=out, stderr=out)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(120)


def train(jar: Path, option: str, folder: Path) -> str:
    node = Node(jar, [option], folder)
    wait_until(lambda: "\nready " in node.log.read_text(), 120, "the line 'ready ...'")
    node.stop()
    return node.log.read_text()


def main() -> None:
    jar, rounds = Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 5
    figures: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="roundhouse-node-") as name:
        folder = Path(name)
        own = trained(jar, train)
        for _ in range(rounds):
            node = Node(own.jar, list(own.jvm), folder)
            moments = {"supervisor's port open": since(node.started, node.node_port)}
            moments["processor time of it by then"] = cpu_seconds(node.process.pid)
            moments["worker's gRPC port open"] = since(node.started, node.ports.grpc)
            wait_until(lambda node=node: "\nready " in node.log.read_text(), 120, "the line 'ready ...'")
            moments["node ready"] = time.monotonic() - node.started
            stopping = time.monotonic()
            node.stop()
            moments["stopped after SIGTERM"] = time.monotonic() - stopping
            for what, seconds in moments.items():
                figures.setdefault(what, []).append(seconds)
    for what, seconds in figures.items():
        print(f"{what:28} median {statistics.median(seconds):5.2f} s   {min(seconds):5.2f} to {max(seconds):5.2f}")


if __name__ == "__main__":
    main()
