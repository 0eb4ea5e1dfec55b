"""How many threads a process may have, taken and given back while it runs, by the system's control groups."""

import os
from pathlib import Path

ROOTS = (Path("/sys/fs/cgroup/pids"), Path("/sys/fs/cgroup"))


class PidsLimit:
    """A group for one process, from entering to leaving, when the process is put back where it was."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.group = _root() / f"roundhouse-e2e-{pid}"
        self._before = next(
            line.rpartition(":")[2]
            for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines()
            if line.split(":")[1] in ("pids", "")
        )

    @staticmethod
    def why_not() -> str:
        """Why no group can be made here; empty when one can."""
        if os.geteuid() != 0:
            return "the number of threads is limited by control groups, which takes root; a user's limit is for all"
        if _root() is None:
            return f"needs the controller 'pids' at one of {[str(root) for root in ROOTS]}"
        probe = _root() / f"roundhouse-e2e-probe-{os.getpid()}"
        try:
            probe.mkdir()
            usable = (probe / "pids.max").exists()
            probe.rmdir()
        except OSError as e:
            return f"no control group can be made: {e}"
        return "" if usable else f"the controller 'pids' is not handed down in {_root()}"

    def no_more(self) -> None:
        """From now on it gets no further thread."""
        (self.group / "pids.max").write_text((self.group / "pids.current").read_text())

    def refused(self) -> int:
        """How many it asked for all the same."""
        return int((self.group / "pids.events").read_text().split()[1])

    def __enter__(self) -> "PidsLimit":
        self.group.mkdir()
        (self.group / "cgroup.procs").write_text(str(self.pid))
        return self

    def __exit__(self, *_: object) -> None:
        (self.group / "pids.max").write_text("max")
        (self.group.parent / self._before.lstrip("/") / "cgroup.procs").write_text(str(self.pid))
        self.group.rmdir()


def _root() -> Path | None:
    return next((root for root in ROOTS if (root / "cgroup.procs").exists()), None)
