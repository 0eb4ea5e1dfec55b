"""Trains the detector; makes bundles 'proposer' and 'box-head' of it, and the meta 'detect' of examples/detect."""

import torch
from torch.export import Dim, export, save

from demo_options import making
from detector import CHANNELS, PROPOSALS, BoxHead, Proposer, anchors, trained
from hooked_bundle import add_meta, imported
from rendered import KINDS, SIDE
from training import train

WEIGHTS = "detector.pt"
KEYS = {
    "description": "shapes in a picture: torchvision's Faster R-CNN, small",
    "client_inputs": [{"name": "image", "dtype": "u8", "shape": ["h", "w", 3]}],
    "client_outputs": [
        {"name": "boxes", "dtype": "f32", "shape": ["d", 4]},
        {"name": "labels", "dtype": "i64", "shape": ["d"]},
        {"name": "scores", "dtype": "f32", "shape": ["d"]},
        {"name": "names", "dtype": "bytes", "shape": ["d"]},
    ],
    "meta": {"calls": ["proposer", "box-head"]},
}


def main() -> None:
    options = making(__doc__)
    train(options.folder / WEIGHTS)
    model = trained(options.folder / WEIGHTS)
    models = options.folder / "models"
    for name, half, input_name, shape, rows in (
        ("proposer", Proposer(model), "image", (3, SIDE, SIDE), 1),
        ("box-head", BoxHead(model), "rois", (CHANNELS, 7, 7), PROPOSALS),
    ):
        source = options.folder / f"{name}.pt2"
        varying = {input_name: {0: Dim("n", min=1, max=1024)}}
        save(export(half.eval(), (torch.zeros(2, *shape),), dynamic_shapes=varying), source)
        imported(source, models, name, "--batch-sizes", str(rows), "--plugin", str(options.plugin))
    files = {
        "Model.java": (options.example / "Model.java").read_bytes(),
        "anchors.f32": anchors(model).numpy().astype("<f4").tobytes(),
        "names.txt": "\n".join(("nothing", *KINDS)).encode(),
    }
    add_meta(models / "detect", files, KEYS)


if __name__ == "__main__":
    main()
