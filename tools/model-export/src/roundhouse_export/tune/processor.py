"""Which processor this is, in the words of the system."""

import os
import platform
from pathlib import Path

_CPU_INFO = Path("/proc/cpuinfo")


def processor() -> str:
    """Returns the model's name and the number of cores that this process may use."""
    name = platform.processor() or platform.machine()
    if _CPU_INFO.exists():
        for line in _CPU_INFO.read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                name = value.strip()
                break
    return f"{name}, {len(os.sched_getaffinity(0))} cores"
