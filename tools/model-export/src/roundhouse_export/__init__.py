"""Writes model bundles that Roundhouse serves: programs as StableHLO, weights as safetensors."""

from roundhouse_export.version import VERSION

__version__ = VERSION
