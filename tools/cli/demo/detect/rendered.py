"""Pictures of shapes, and where in them which shape is: what the detector is trained on, and what it is shown."""

import math
import random
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw

KINDS = ("circle", "square", "triangle", "cross")
SIDE = 192
SMALLEST, LARGEST = 28, 76  # pixels
FEWEST, MOST = 3, 6  # shapes in a picture
TRIES = 60  # places; a crowded picture gets fewer shapes
LEANING = 0.04  # of a turn, to either side
APART = 1.1  # circles around two shapes do not meet
NOISE = 6  # levels
LEAST_CONTRAST = 180  # levels, the three colours together

CORNERS = {
    "square": [(1, k / 4 + 0.125) for k in range(4)],
    "triangle": [(1, k / 3 - 0.25) for k in range(3)],
    "cross": [(r, k / 4 + t) for k in range(4) for r, t in ((1, -0.05), (1, 0.05), (0.44, 0.125))],
}
"""Of a shape: distance from its centre, in parts of its radius, and angle, in turns."""


class Shape(NamedTuple):
    kind: str
    box: tuple[float, float, float, float]


def pictures(seed: int) -> Iterator[tuple[Image.Image, list[Shape]]]:
    """Endless; the same for the same seed."""
    chance = random.Random(seed)
    noise = np.random.default_rng(seed)
    while True:
        picture, shapes = drawn(chance)
        pixels = np.asarray(picture) + noise.normal(0, NOISE, (SIDE, SIDE, 3))
        yield Image.fromarray(pixels.clip(0, 255).astype(np.uint8)), shapes


def drawn(chance: random.Random) -> tuple[Image.Image, list[Shape]]:
    ground = colour(chance)
    picture = Image.new("RGB", (SIDE, SIDE), ground)
    pen = ImageDraw.Draw(picture)
    shapes: list[Shape] = []
    circles: list[tuple[float, float, float]] = []
    wanted = chance.randint(FEWEST, MOST)
    for _ in range(TRIES):
        if len(shapes) == wanted:
            break
        radius = chance.uniform(SMALLEST, LARGEST) / 2
        x, y = (chance.uniform(radius, SIDE - radius) for _ in "xy")
        if any(math.dist((x, y), other[:2]) < APART * (radius + other[2]) for other in circles):
            continue
        circles.append((x, y, radius))
        kind = chance.choice(KINDS)
        fill = colour(chance, ground)
        if kind == "circle":
            box = (x - radius, y - radius, x + radius, y + radius)
            pen.ellipse(box, fill=fill)
        else:
            turned = chance.uniform(-LEANING, LEANING)
            angles = [(r * radius, 2 * math.pi * (turned + turn)) for r, turn in CORNERS[kind]]
            points = [(x + r * math.cos(a), y + r * math.sin(a)) for r, a in angles]
            pen.polygon(points, fill=fill)
            box = (*map(min, zip(*points, strict=True)), *map(max, zip(*points, strict=True)))
        shapes.append(Shape(kind, box))
    return picture, shapes


def colour(chance: random.Random, other: tuple[int, ...] | None = None) -> tuple[int, ...]:
    """One that can be told from another."""
    while True:
        made = tuple(chance.randrange(256) for _ in "rgb")
        if other is None or sum(abs(a - b) for a, b in zip(made, other, strict=True)) >= LEAST_CONTRAST:
            return made
