"""What torchvision finds in pictures, with the weights that the bundles were made of."""

import sys
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import interpolate, pad

from detector import trained
from rendered import SIDE


def main() -> None:
    weights, asked, answered = map(Path, sys.argv[1:])
    model = trained(weights)
    found = {}
    with np.load(asked) as given, torch.inference_mode():
        for name in given.files:
            picture = torch.from_numpy(given[name]).permute(2, 0, 1) / 255
            for key, value in detections(model, picture).items():
                found[f"{name}.{key}"] = value.numpy()
    np.savez(answered, **found)


def detections(model: torch.nn.Module, picture: torch.Tensor) -> dict[str, torch.Tensor]:
    """Of a picture of any size, which is fitted as Model.java does."""
    height, width = picture.shape[1:]
    larger = max(1, max(height, width) / SIDE)
    down, across = (max(1, int(size / larger + 0.5)) for size in (height, width))
    fitted = interpolate(picture[None], (down, across), mode="bilinear", align_corners=False)[0]
    (found,) = model([pad(fitted, (0, SIDE - across, 0, SIDE - down))])
    found["boxes"] *= torch.tensor([width / across, height / down] * 2)
    found["boxes"] = found["boxes"].minimum(torch.tensor([width, height] * 2))
    return found


if __name__ == "__main__":
    main()
