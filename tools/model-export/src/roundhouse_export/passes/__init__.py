"""Rewrites of programs before they are encoded, each of which a measurement has shown to pay."""

from roundhouse_export.passes.optimise import Optimised, layers, optimise

__all__ = ["Optimised", "layers", "optimise"]
