"""Bundles of format 3: row-major shapes as lists, a digest for every file."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from roundhouse_export import dtypes, weights
from roundhouse_export.contract import KNOWN_PLATFORMS, Contract, ProgramKey, TensorSpec
from roundhouse_export.folder import replace_folder
from roundhouse_export.manifest_yaml import OneLine, to_yaml
from roundhouse_export.serving import serving_problems

MANIFEST = "manifest.yaml"


@dataclass(frozen=True)
class Bundle:
    """Everything a bundle holds, whichever format it is written in.

    ``weights`` are as ``@main`` takes them, in argument order. ``assets`` are further files by
    name. ``provenance`` is free form. ``serving`` is format 3's section of that name.
    ``platform_programs`` take the place of those of the same key on one platform; format 3 alone
    has them.
    """

    contract: Contract
    description: str
    programs: Mapping[ProgramKey, bytes]
    weights: Mapping[str, np.ndarray]
    provenance: Mapping[str, str]
    assets: Mapping[str, bytes] = field(default_factory=dict)
    serving: Mapping[str, Any] = field(default_factory=dict)
    platform_programs: Mapping[tuple[ProgramKey, str], bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        wanted = {key.file_name for key in self.contract.programs()}
        given = {key.file_name for key in self.programs}
        if wanted != given:
            raise ValueError(f"programs are {sorted(given)}; the contract asks {sorted(wanted)}")
        self._require_platform_programs()
        taken = {MANIFEST, weights.FILE_NAME, *payload_programs(self)}
        for name in self.assets:
            if name in {*taken, "", ".."} or Path(name).name != name:
                raise ValueError(f"asset '{name}' must be a plain file name not in {sorted(taken)}")
        for tensor in self.contract.inputs + self.contract.outputs:
            if tensor.labels is not None and tensor.labels not in self.assets:
                raise ValueError(f"tensor '{tensor.name}': no asset '{tensor.labels}' for labels")
            if tensor.dtype in dtypes.DEVICE_ONLY_TOKENS:
                raise ValueError(f"tensor '{tensor.name}': {tensor.dtype} has no name on the wire")
        problems = serving_problems(self.serving, self.contract, self.assets)
        if problems:
            raise ValueError("; ".join(problems))

    def _require_platform_programs(self) -> None:
        for key, platform in self.platform_programs:
            name = key.platform_file_name(platform)
            if platform not in KNOWN_PLATFORMS:
                known = ", ".join(KNOWN_PLATFORMS)
                raise ValueError(f"{name}: platform '{platform}' is not known; known are {known}")
            if key not in self.programs:
                raise ValueError(f"{name}: there is no {key.file_name} for the other platforms")


def write_bundle(bundle: Bundle, target: Path) -> None:
    """Writes ``target`` as a format 3 bundle; its folder name becomes the model's name."""
    files = payload_files(bundle, bundle.weights)
    replace_folder(target, {**files, MANIFEST: to_yaml(_manifest(bundle, files))})


def payload_files(bundle: Bundle, stored_weights: Mapping[str, np.ndarray]) -> dict[str, bytes]:
    """Returns every file but the manifest, sorted by name."""
    files = payload_programs(bundle)
    files |= {weights.FILE_NAME: weights.encode(stored_weights), **bundle.assets}
    return dict(sorted(files.items()))


def payload_programs(bundle: Bundle) -> dict[str, bytes]:
    """Returns every program by its file's name, those for one platform included."""
    programs = {key.file_name: data for key, data in bundle.programs.items()}
    for (key, platform), data in bundle.platform_programs.items():
        programs[key.platform_file_name(platform)] = data
    return programs


def digest_problems(folder: Path) -> list[str]:
    """Compares a format 3 bundle with its manifest's digests; returns what differs, in words."""
    expected: dict[str, str] = yaml.safe_load((folder / MANIFEST).read_bytes())["files"]
    # Names that start with a dot are no part of a bundle.
    present = {path.name for path in folder.iterdir() if not path.name.startswith(".")} - {MANIFEST}
    problems = [
        f"{name}: listed in {MANIFEST} but absent" for name in sorted(set(expected) - present)
    ]
    problems += [f"{name}: not listed in {MANIFEST}" for name in sorted(present - set(expected))]
    for name in sorted(present & set(expected)):
        actual = sha256((folder / name).read_bytes())
        if actual != expected[name]:
            problems.append(f"{name}: sha256 is {actual}, {MANIFEST} says {expected[name]}")
    return problems


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _manifest(bundle: Bundle, files: Mapping[str, bytes]) -> dict[str, Any]:
    contract = bundle.contract
    manifest: dict[str, Any] = {
        "format_version": "3",
        "kind": "model",
        "description": bundle.description,
        "inputs": [_tensor(tensor) for tensor in contract.inputs],
        "outputs": [_tensor(tensor) for tensor in contract.outputs],
    }
    if contract.batch_sizes:
        manifest["batch_sizes"] = list(contract.batch_sizes)
    if contract.variants:
        manifest["variants"] = [OneLine(sorted(variant.items())) for variant in contract.variants]
    if contract.pad:
        manifest["pad"] = OneLine(contract.pad)
    if contract.trim:
        manifest["trim"] = list(contract.trim)
    if bundle.serving:
        manifest["serving"] = _plain(bundle.serving)
    manifest["files"] = {name: sha256(data) for name, data in files.items()}
    manifest["provenance"] = dict(bundle.provenance)
    return manifest


def _plain(value: Any) -> Any:
    """YAML's writer takes dicts and lists, not every mapping and sequence."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value


def _tensor(tensor: TensorSpec) -> OneLine:
    entry = OneLine(name=tensor.name, dtype=tensor.dtype, shape=list(tensor.shape))
    if tensor.labels is not None:
        entry["labels"] = tensor.labels
    return entry
