"""A node goes through a seeded plan of faults, and its clients see nothing that they may not.

``ROUNDHOUSE_E2E_SOAK=HOURS[,SEED]`` (``./roundhouse test --soak=HOURS[,SEED]``) says for how long, and with which seed
instead of one of the clock's; ``ROUNDHOUSE_E2E_SOAK_REPORT`` names a file for the report. Otherwise a minute.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from networks import why_not
from test_exhaustion import why_not as why_no_mounts
from worker_process import ROOT

pytestmark = pytest.mark.alone

SHORT_SECONDS, SHORT_SEED = 40, 8
MOST_MORE_SECONDS = 900  # to start, for an episode that takes longer than planned, and to read what was written
SHOWN_LINES = 200
OWN_MACHINE = """
ip link set lo up
mount -t tmpfs tmpfs /dev/shm
"$@"
exit $?
"""


def asked() -> tuple[float, int]:
    """Seconds and seed."""
    named = os.environ.get("ROUNDHOUSE_E2E_SOAK", "")
    if not named:
        return SHORT_SECONDS, SHORT_SEED
    hours, _, seed = named.partition(",")
    return float(hours) * 3600, int(seed) if seed else int(time.time())


def own_machine() -> list[str]:
    """What a command stands behind to have a network, mounts and processes of its own; empty where that cannot be."""
    if why_not() or why_no_mounts():
        return []
    spaces = ["--net", "--mount", "--propagation=private", "--pid", "--fork", "--kill-child", "--mount-proc"]
    return ["unshare", *spaces, "sh", "-euc", OWN_MACHINE, "sh"]


def test_should_show_its_clients_nothing_that_they_may_not_see(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    seconds, seed = asked()
    apart = own_machine()
    command = [*apart, sys.executable, "-u", "-m", "soak.run", str(tmp_path), str(seconds), str(seed)]
    if apart:
        command.append("--own-machine")
    with capfd.disabled():
        print()
        ended = subprocess.run(command, cwd=ROOT / "e2e-tests", timeout=seconds + MOST_MORE_SECONDS)
    report = tmp_path / "report.md"
    if report.exists() and (copy := os.environ.get("ROUNDHOUSE_E2E_SOAK_REPORT")):
        shutil.copyfile(report, copy)
    assert ended.returncode == 0, f"what it did and saw is in {tmp_path}"
