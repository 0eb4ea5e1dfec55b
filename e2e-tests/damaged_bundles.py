"""Copies of sample bundles with one thing wrong each."""

import hashlib
import shutil
from pathlib import Path

from worker_process import SAMPLE_MODELS


def copy_sample(name: str, repository: Path, new_name: str | None = None) -> Path:
    folder = repository / (new_name or name)
    shutil.copytree(SAMPLE_MODELS / name, folder)
    return folder


def truncated_weights(repository: Path) -> str:
    """Cut short, with a digest that agrees: only reading the file can tell."""
    folder = copy_sample("affine", repository, "truncated-weights")
    weights = folder / "weights.safetensors"
    rewrite(folder, weights, weights.read_bytes()[:-5])
    return folder.name


def weights_unlike_their_digest(repository: Path) -> str:
    folder = copy_sample("affine", repository, "changed-weights")
    weights = folder / "weights.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    return folder.name


def wrong_dim(repository: Path) -> str:
    """The manifest says 17 where the module says 16."""
    folder = copy_sample("affine", repository, "wrong-dim")
    manifest = folder / "manifest.yaml"
    replace_once(manifest, "shape: [n, 16]", "shape: [n, 17]")
    return folder.name


def input_too_many(repository: Path) -> str:
    """The module's @main takes one argument more than inputs and weights give."""
    folder = copy_sample("affine", repository, "input-too-many")
    for module in folder.glob("model.b*.mlir"):
        text = module.read_text()
        assert text.count("%arg2: tensor<4xf32>)") == 1
        wider = text.replace("%arg2: tensor<4xf32>)", "%arg2: tensor<4xf32>, %arg3: tensor<4xf32>)")
        rewrite(folder, module, wider.encode())
    return folder.name


def rewrite(folder: Path, file: Path, content: bytes) -> None:
    """Replaces a file and its digest in the manifest."""
    old = hashlib.sha256(file.read_bytes()).hexdigest()
    file.write_bytes(content)
    replace_once(folder / "manifest.yaml", old, hashlib.sha256(content).hexdigest())


def replace_once(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1, f"{file} holds {old!r} {text.count(old)} times"
    file.write_text(text.replace(old, new))
