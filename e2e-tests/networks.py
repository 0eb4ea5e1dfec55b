"""Networks of their own for the processes of a test, around a router that can be told to drop what goes one way.

What is dropped is dropped in silence, as by a link or a machine that is gone: nobody is told, nothing is refused.
"""

import ctypes
import os
import shutil
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
CLONE_NEWNET = 0x40000000


def ip(*arguments: str) -> str:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, f"ip {' '.join(arguments)}: {done.stderr}"
    return done.stdout


def why_not() -> str:
    """Why networks cannot be made here; empty when they can."""
    if os.geteuid() != 0:
        return "networks are made by root only"
    if missing := [tool for tool in ("ip", "nsenter", "unshare") if not shutil.which(tool)]:
        return f"needs {', '.join(missing)}"
    probe = subprocess.run(["unshare", "--net", "true"], capture_output=True, text=True, timeout=30)
    return "" if probe.returncode == 0 else f"no network can be made: {probe.stderr.strip()}"


@dataclass(frozen=True)
class Place:
    """Where a process runs: in the network of the test itself, or in one of its own."""

    address: str = "127.0.0.1"
    network: str = ""

    def command(self, command: list[str]) -> list[str]:
        return ["nsenter", f"--net=/run/netns/{self.network}", *command] if self.network else command

    def run(self, work: Callable[[], T]) -> T:
        """Does something there that opens sockets, on a thread that ends with it."""
        if not self.network:
            return work()
        result: list[T] = []
        failure: list[BaseException] = []

        def enter() -> None:
            try:
                with Path(f"/run/netns/{self.network}").open() as network:
                    library = ctypes.CDLL(None, use_errno=True)
                    assert library.setns(network.fileno(), CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
                result.append(work())
            except BaseException as e:
                failure.append(e)

        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        if failure:
            raise failure[0]
        return result[0]


class Networks:
    """A router and places around it, from construction to ``close``."""

    def __init__(self, *names: str) -> None:
        self.router = f"rh{os.getpid()}-router"
        self.places = {name: Place(f"10.77.{index}.2", f"rh{os.getpid()}-{name}") for index, name in enumerate(names)}
        self._dropped: list[tuple[str, ...]] = []
        try:
            self._make()
        except BaseException:
            self.close()
            raise

    def _make(self) -> None:
        ip("netns", "add", self.router)
        for index, place in enumerate(self.places.values()):
            ip("netns", "add", place.network)
            veth = ("type", "veth", "peer", "name", f"to{index}", "netns", self.router)
            ip("link", "add", "eth0", "netns", place.network, *veth)
            ip("-n", self.router, "address", "add", f"10.77.{index}.1/30", "dev", f"to{index}")
            ip("-n", place.network, "address", "add", f"{place.address}/30", "dev", "eth0")
            for network, device in ((self.router, f"to{index}"), (place.network, "eth0"), (place.network, "lo")):
                ip("-n", network, "link", "set", device, "up")
            ip("-n", place.network, "route", "add", "default", "via", f"10.77.{index}.1")
        forward = ["sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"]
        subprocess.run(Place(network=self.router).command(forward), check=True, timeout=30)

    def drop(self, sender: str, receiver: str) -> None:
        """From now on nothing that one sends reaches the other."""
        rule = ("from", self.places[sender].address, "to", self.places[receiver].address, "blackhole")
        ip("-n", self.router, "rule", "add", *rule)
        self._dropped.append(rule)

    def heal(self) -> None:
        for rule in self._dropped:
            ip("-n", self.router, "rule", "del", *rule)
        self._dropped.clear()

    def close(self) -> None:
        for network in (self.router, *(place.network for place in self.places.values())):
            subprocess.run(["ip", "netns", "del", network], capture_output=True, timeout=30)


class LoopbackCut:
    """Drops what is sent to ports of 127.0.0.1, in silence, in a network of the caller's own.

    Loopback has no link to cut, so what is for these ports is routed to a device that nobody listens to. Connections
    that are open hear nothing any more, and others are not made.
    """

    TABLE, CUT, LOCAL = "77", "5", "100"
    DEVICE = "nowhere"

    def __init__(self) -> None:
        ip("link", "add", self.DEVICE, "type", "veth", "peer", "name", f"{self.DEVICE}-end")
        ip("link", "set", self.DEVICE, "up")
        ip("link", "set", f"{self.DEVICE}-end", "up")
        Path(f"/proc/sys/net/ipv4/conf/{self.DEVICE}/route_localnet").write_text("1")
        ip("route", "add", "127.0.0.1", "dev", self.DEVICE, "table", self.TABLE)
        neighbour = ("lladdr", "02:00:00:00:00:01", "nud", "permanent")
        ip("neigh", "add", "127.0.0.1", "dev", self.DEVICE, *neighbour)
        # the system looks up what is local before anything else
        ip("rule", "add", "pref", self.LOCAL, "lookup", "local")
        ip("rule", "del", "pref", "0")

    def drop(self, *ports: int) -> None:
        for port in ports:
            ip("rule", "add", "pref", self.CUT, "ipproto", "tcp", "dport", str(port), "lookup", self.TABLE)

    def heal(self, *ports: int) -> None:
        for port in ports:
            ip("rule", "del", "pref", self.CUT, "ipproto", "tcp", "dport", str(port), "lookup", self.TABLE)
