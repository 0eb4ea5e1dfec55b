"""Runs this command again in a process that has no network, for sources that can run code."""

import ctypes
import os
import subprocess
import sys
from collections.abc import Sequence

_MARK = "ROUNDHOUSE_EXPORT_ISOLATED"
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000


def is_isolated() -> bool:
    return _MARK in os.environ


def run_again(arguments: Sequence[str]) -> int:
    """Runs the command with these arguments in a child, and returns its exit code.

    The child leaves the network before Python has run a line of anybody else's (namespaces of
    Linux). Where the system does not allow that, it says so and goes on.
    """
    command = [sys.executable, "-m", "roundhouse_export", *arguments]
    environment = os.environ | {_MARK: "1"}
    child = subprocess.run(command, env=environment, preexec_fn=_leave_network, check=False)
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


def _leave_network() -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, "unshare"):
        os.write(2, b"note: this system has no way to take the network away from the source\n")
        return
    for flags in (_CLONE_NEWNET, _CLONE_NEWUSER | _CLONE_NEWNET):
        if library.unshare(flags) == 0:
            return
    os.write(2, b"note: this system does not let the network be taken away from the source\n")
