"""Makes the bundle 'faces': CenterFace, and the hooks of examples/faces before and behind it."""

from pathlib import Path

import onnx

from demo_options import making
from hooked_bundle import add_hooks, imported
from onnx_files import center_face

MODEL = "faces"
SIZE = "480,640"  # Model.java names it too
# The file numbers its tensors.
NAMES = {"input.1": "image", "537": "heatmap", "538": "size", "539": "offset", "540": "points"}
KEYS = {
    "description": "faces in a picture: CenterFace (MIT)",
    "client_inputs": [{"name": "picture", "dtype": "bytes", "shape": [1]}],
    "client_outputs": [
        {"name": "boxes", "dtype": "f32", "shape": ["f", 4]},
        {"name": "scores", "dtype": "f32", "shape": ["f"]},
        {"name": "landmarks", "dtype": "f32", "shape": ["f", 5, 2]},
    ],
}


def main() -> None:
    options = making(__doc__)
    source = named(center_face(options.folder, options.cache), options.folder / f"{MODEL}.onnx")
    shape = ("--input", f"image=f32[n,3,{SIZE}]", "--batch-sizes", "1,4")
    bundle = imported(source, options.folder / "models", MODEL, *shape, "--plugin", str(options.plugin))
    add_hooks(bundle, {"Model.java": (options.example / "Model.java").read_bytes()}, KEYS)


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


if __name__ == "__main__":
    main()
