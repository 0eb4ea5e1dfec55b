"""The exporter's version, as provenance records it."""

VERSION = "0.1.0"
