"""The live page as headless Chromium sees it."""

import json
import os
import subprocess
from pathlib import Path

import client_tools

NODE = Path(__file__).parent / "node"
SECONDS = 240

Seen = dict[str, object]


def node_environment() -> dict[str, str]:
    return os.environ | {"NODE_PATH": str(client_tools.node_packages(NODE))}


def look(address: str, folder: Path, *size: str) -> Seen:
    """What a browser saw of the page of a worker, in every size or in one, and its pictures in ``folder``."""
    return _run("page.js", address, str(folder), *size)


def look_at_gateway(address: str, folder: Path, *usual: str) -> Seen:
    """The same of a gateway's own page, with a drain of one of its workers."""
    return _run("fleet_page.js", address, str(folder), "workers", *usual)


def look_at_node(address: str, folder: Path, *usual: str) -> Seen:
    return _run("fleet_page.js", address, str(folder), "processes", *usual)


def _run(script: str, *arguments: str) -> Seen:
    node, chromium = client_tools.need("node"), client_tools.need("chromium")
    command = [node, str(NODE / script), chromium, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=node_environment(), timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
