"""A bundle of the exporter's, and then what one adds by hand: hooks, their files, and what callers send and get."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from roundhouse_export.bundle import MANIFEST, sha256
from roundhouse_export.manifest_yaml import OneLine, to_yaml

NOT_NEAR = 1  # how the exporter ends when it wrote a bundle whose answers are not near for some inputs
ONE_LINE_EACH = ("inputs", "outputs", "client_inputs", "client_outputs", "variants")


def imported(source: Path, bundles: Path, name: str, *options: str) -> Path:
    command = [sys.executable, "-m", "roundhouse_export", str(source), "--out", str(bundles), "--name", name, *options]
    code = subprocess.run(command).returncode
    if code not in (0, NOT_NEAR):  # the demo itself says how near it is, for real inputs
        raise SystemExit(f"{source} cannot be imported; why is said above")
    return bundles / name


def add_hooks(bundle: Path, files: dict[str, bytes], keys: dict[str, Any]) -> None:
    """Writes files, lists their digests, and sets keys of the manifest."""
    for name, content in files.items():
        (bundle / name).write_bytes(content)
    manifest = yaml.safe_load((bundle / MANIFEST).read_bytes())
    listed = manifest.pop("files") | {name: sha256(content) for name, content in files.items()}
    write_manifest(bundle, manifest | keys, listed)


def add_meta(bundle: Path, files: dict[str, bytes], keys: dict[str, Any]) -> None:
    """A bundle of Java that calls other models: its files, and the keys of its manifest."""
    bundle.mkdir()
    for name, content in files.items():
        (bundle / name).write_bytes(content)
    listed = {name: sha256(content) for name, content in files.items()}
    write_manifest(bundle, {"format_version": "3", "kind": "meta"} | keys, listed)


def write_manifest(bundle: Path, keys: dict[str, Any], files: dict[str, str]) -> None:
    """Of files by their digests."""
    written = keys | {key: list(map(OneLine, keys[key])) for key in ONE_LINE_EACH if key in keys}
    written["files"] = dict(sorted(files.items()))
    (bundle / MANIFEST).write_bytes(to_yaml(written))
