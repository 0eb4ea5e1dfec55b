"""Makes the bundle 'faces': CenterFace, and the hooks of examples/faces before and behind it."""

import argparse
import subprocess
import sys
from pathlib import Path

import onnx
import yaml
from roundhouse_export.bundle import MANIFEST, sha256
from roundhouse_export.manifest_yaml import OneLine, to_yaml

from onnx_files import center_face

MODEL = "faces"
SIZE = "480,640"  # Model.java names it too
NOT_NEAR = 1  # how the exporter ends when it wrote a bundle that is not near for some inputs
# The file numbers its tensors.
NAMES = {"input.1": "image", "537": "heatmap", "538": "size", "539": "offset", "540": "points"}
PICTURE = [{"name": "picture", "dtype": "bytes", "shape": [1]}]
FACES = [
    {"name": "boxes", "dtype": "f32", "shape": ["f", 4]},
    {"name": "scores", "dtype": "f32", "shape": ["f"]},
    {"name": "landmarks", "dtype": "f32", "shape": ["f", 5, 2]},
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hooks", type=Path, required=True, help="a folder with Model.java")
    parser.add_argument("--cache", type=Path, required=True, help="where wheels are kept")
    parser.add_argument("--folder", type=Path, required=True, help="gets faces.onnx and models/faces")
    parser.add_argument("--plugin", type=Path, required=True)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    source = named(center_face(options.folder, options.cache), options.folder / f"{MODEL}.onnx")
    bundles = options.folder / "models"
    imported(source, bundles, options.plugin)
    add_hooks(bundles / MODEL, options.hooks / "Model.java")


def named(source: Path, target: Path) -> Path:
    """The same program, its inputs and outputs by names that say what they are."""
    model = onnx.load(source)
    graph = model.graph
    for node in graph.node:
        for names in (node.input, node.output):
            names[:] = [NAMES.get(name, name) for name in names]
    for value in [*graph.input, *graph.output]:
        value.name = NAMES.get(value.name, value.name)
    onnx.save(model, target)
    source.unlink()
    return target


def imported(source: Path, bundles: Path, plugin: Path) -> None:
    command = [sys.executable, "-m", "roundhouse_export", str(source), "--out", str(bundles), "--name", MODEL]
    command += ["--input", f"image=f32[n,3,{SIZE}]", "--batch-sizes", "1,4", "--plugin", str(plugin)]
    code = subprocess.run(command).returncode
    if code not in (0, NOT_NEAR):
        raise SystemExit(f"{source} cannot be imported; why is said above")


def add_hooks(bundle: Path, hooks: Path) -> None:
    """As one does by hand: the file, its digest, and what callers send and get."""
    code = hooks.read_bytes()
    (bundle / "Model.java").write_bytes(code)
    manifest = yaml.safe_load((bundle / MANIFEST).read_bytes())
    for key in ("inputs", "outputs"):
        manifest[key] = [OneLine(tensor) for tensor in manifest[key]]
    files = manifest.pop("files") | {"Model.java": sha256(code)}
    contract = {"client_inputs": list(map(OneLine, PICTURE)), "client_outputs": list(map(OneLine, FACES))}
    written = manifest | {"description": "faces in a picture: CenterFace (MIT)"} | contract
    written["files"] = dict(sorted(files.items()))
    (bundle / MANIFEST).write_bytes(to_yaml(written))


if __name__ == "__main__":
    main()
