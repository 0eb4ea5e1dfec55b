"""Writes the lock of each Python environment: every package it installs, with the sha256 of the files that may be it.

usage: lock_python.py [LOCK...]

Run it after a change of requirements. It needs uv (``pip install uv``); ``ensure_venv`` in tools/cli/python.sh installs
from the locks by pip, which refuses a package that is not in one and a file that is not as its hash says.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXPORT = ROOT / "tools" / "model-export"
PEERS = ROOT / "tools" / "peers"
DEMO = ROOT / "tools" / "cli" / "demo"
PYTHONS = ">=3.11,<3.15"
MACHINES = ("x86_64", "aarch64")
ALWAYS = "(platform_machine == 'aarch64' or platform_machine == 'x86_64') and sys_platform == 'linux'"
HEADER = "# Written by tools/pins/lock_python.py from {}; change that and run it again.\n"


def environments() -> dict[Path, list[Path]]:
    """The requirements that each lock is made of."""
    made = {
        ROOT / "e2e-tests" / "requirements.lock": [ROOT / "e2e-tests" / "requirements.txt"],
        EXPORT / "requirements-dev.lock": [EXPORT / "requirements-dev.txt"],
        DEMO / "requirements.lock": [DEMO / "requirements.txt"],
        PEERS / "python.lock": [PEERS / "python.txt"],
        PEERS / "echo.lock": [PEERS / "echo.txt"],
    }
    made |= {file.with_suffix(".lock"): [file] for file in sorted((EXPORT / "locks").glob("*.txt"))}
    for file in sorted(DEMO.glob("*/requirements.txt")):
        made[file.with_suffix(".lock")] = [DEMO / "requirements.txt", file]
    return made


def lines(file: Path, option: str) -> Iterator[str]:
    """The requirements of a file, with those that it has by ``-r``; or, for ``-c``, its constraints."""
    for line in file.read_text().splitlines():
        line = line.split("#")[0].strip()
        if line.startswith(option):
            yield from lines(file.parent / line[2:].strip(), "-r")
        elif line.startswith("-r"):
            yield from lines(file.parent / line[2:].strip(), option)
        elif line and not line.startswith("-") and option == "-r":
            yield line


def lock(out: Path, files: list[Path]) -> None:
    requirements = sorted({line for file in files for line in lines(file, "-r")})
    constraints = sorted({line for file in files for line in lines(file, "-c")})
    machines = [f"sys_platform == 'linux' and platform_machine == '{machine}'" for machine in MACHINES]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "pyproject.toml").write_text(
            f'[project]\nname = "environment"\nversion = "0"\nrequires-python = "{PYTHONS}"\n'
            f"dependencies = {json.dumps(requirements)}\n[tool.uv]\npackage = false\n"
            f"environments = {json.dumps(machines)}\nconstraint-dependencies = {json.dumps(constraints)}\n"
        )
        uv = ["uv", "--quiet", "--project", folder]
        subprocess.run([*uv, "lock"], check=True)
        options = ["--frozen", "--no-emit-project", "--no-header", "--no-annotate", "--format", "requirements.txt"]
        made = subprocess.run([*uv, "export", *options], check=True, capture_output=True, text=True).stdout
    named = " and ".join(str(file.relative_to(ROOT)) for file in files)
    out.write_text(HEADER.format(named) + made.replace(f" ; {ALWAYS}", ""))


if __name__ == "__main__":
    chosen = {Path(name).resolve() for name in sys.argv[1:]}
    for out, files in environments().items():
        if not chosen or out in chosen:
            lock(out, files)
            print(out.relative_to(ROOT), out.read_text().count("=="), "packages")
