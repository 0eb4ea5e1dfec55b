"""Manifests as YAML that people read: keys in the order given, one tensor a line."""

from collections.abc import Mapping
from typing import Any

import yaml


class OneLine(dict[str, Any]):
    """A mapping written in braces on one line."""


class _Dumper(yaml.SafeDumper):
    pass


def _one_line(dumper: yaml.SafeDumper, mapping: OneLine) -> yaml.Node:
    return dumper.represent_mapping("tag:yaml.org,2002:map", mapping.items(), flow_style=True)


def _list(dumper: yaml.SafeDumper, items: list[Any]) -> yaml.Node:
    scalars = not any(isinstance(item, dict | list) for item in items)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=scalars)


_Dumper.add_representer(OneLine, _one_line)
_Dumper.add_representer(list, _list)


def to_yaml(manifest: Mapping[str, Any]) -> bytes:
    """Returns the manifest's bytes, the same for the same manifest."""
    text: str = yaml.dump(manifest, Dumper=_Dumper, sort_keys=False, width=1000, allow_unicode=True)
    return text.encode()
