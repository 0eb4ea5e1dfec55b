"""What was measured before, by processor and plugin, so that the next model need not measure it."""

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

Times = Mapping[str, float]
"""Milliseconds by lowering; a lowering whose result was wrong or that did not compile is absent."""

# Goes up when a lowering changes what it computes or how.
_LOWERINGS = 1


def default_folder() -> Path:
    """Returns ``tuning`` in the folder that ROUNDHOUSE_CACHE names, else in the user's cache."""
    named = os.environ.get("ROUNDHOUSE_CACHE")
    return (Path(named) if named else Path.home() / ".cache" / "roundhouse") / "tuning"


@dataclass(frozen=True)
class Cache:
    """One file in ``folder``, for one processor and one plugin."""

    folder: Path
    processor: str
    plugin: str

    @property
    def path(self) -> Path:
        told_apart = f"{self.processor}\n{self.plugin}\n{_LOWERINGS}"
        return self.folder / f"{hashlib.sha256(told_apart.encode()).hexdigest()[:16]}.json"

    def read(self) -> dict[str, dict[str, float]]:
        """Returns times by convolution; nothing where the file is absent or damaged."""
        try:
            content = json.loads(self.path.read_text())
            return {
                str(convolution): {str(name): float(time) for name, time in times.items()}
                for convolution, times in content["milliseconds"].items()
            }
        except (OSError, ValueError, KeyError, AttributeError, TypeError):
            return {}

    def add(self, measured: Mapping[str, Times]) -> None:
        """Joins times to those of the file, which another process sees whole or not at all."""
        content = {
            "processor": self.processor,
            "plugin": self.plugin,
            "milliseconds": {**self.read(), **{name: dict(t) for name, t in measured.items()}},
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=self.folder, delete=False) as file:
            json.dump(content, file, indent=1, sort_keys=True)
        Path(file.name).replace(self.path)
