"""Code that comes with a source has no network."""

import os
import subprocess
import sys
from pathlib import Path

PROBE = """
import socket
listening = socket.socket()
try:
    socket.create_connection(("127.0.0.1", PORT), 2)
    raise SystemExit("the network is there")
except OSError as e:
    raise ValueError(f"no network: {e}")
"""


def test_should_take_the_network_away_before_a_source_runs(tmp_path: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        (tmp_path / "probing.py").write_text(PROBE.replace("PORT", str(port)))
        ended = subprocess.run(
            [sys.executable, "-m", "roundhouse_export", "probing:model", "--out", "models"],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1] / "src")},
            capture_output=True,
            text=True,
            check=False,
        )
    if "does not let the network be taken away" in ended.stderr:
        # said, and gone on with: the source has seen the network
        assert "the network is there" in ended.stderr
        return
    assert ended.returncode == 2, ended.stderr
    assert "no network: " in ended.stderr
