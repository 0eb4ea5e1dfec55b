"""Measures which rewrites pay on the machine and the plugin that serve."""

from roundhouse_export.tune.tuning import Tuned, tune

__all__ = ["Tuned", "tune"]
