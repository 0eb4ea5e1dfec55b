"""Rewrites of programs before they are encoded, each of which a measurement has shown to pay."""

from roundhouse_export.passes.optimise import Optimised, layers, optimise, optimise_by_platform

__all__ = ["Optimised", "layers", "optimise", "optimise_by_platform"]
