"""What a process holds, before the faults and after them."""

import re
from dataclasses import dataclass
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")
MORE_THREADS = 12
MORE_FILES = 24
# A heap that has been filled once stays with its process: what garbage collectors give back depends on how busy it was.
RSS_RATIO, MORE_RSS_BYTES = 1.25, 96 << 20


@dataclass(frozen=True)
class Held:
    threads: int
    files: int
    rss: int

    def __str__(self) -> str:
        return f"{self.threads} threads, {self.files} files, {self.rss >> 20} MiB"


def held(pid: int) -> Held:
    process = Path(f"/proc/{pid}")
    rss = re.search(r"VmRSS:\s+(\d+) kB", (process / "status").read_text())
    return Held(len(list((process / "task").iterdir())), len(list((process / "fd").iterdir())), int(rss[1]) << 10)


def growth(name: str, before: Held, after: Held) -> list[str]:
    """What has grown beyond its margin."""
    found = []
    if after.threads > before.threads + MORE_THREADS:
        found.append(f"{name} has {after.threads} threads, and had {before.threads}")
    if after.files > before.files + MORE_FILES:
        found.append(f"{name} has {after.files} files open, and had {before.files}")
    if after.rss > before.rss * RSS_RATIO + MORE_RSS_BYTES:
        found.append(f"{name} has {after.rss >> 20} MiB, and had {before.rss >> 20}")
    return found


def shared_objects() -> set[str]:
    return {each.name for each in SHARED_MEMORY.iterdir()}
