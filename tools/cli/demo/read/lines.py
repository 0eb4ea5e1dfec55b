"""The demo's pictures: fifty lines as they stand on labels and receipts, set in Pillow's own font."""

from PIL import Image, ImageDraw, ImageFont

SIZE, TEXT, LEADING, PER_PICTURE = (640, 640), 26, 60, 10
GOODS = ("apples", "bread", "butter", "coffee", "flour", "honey", "lemons", "milk", "onions", "pepper")


def lines() -> list[str]:
    """Ten of each kind."""
    made = []
    for i, name in enumerate(GOODS):
        made += [
            f"{name.capitalize()} {2 + 7 * i}.{(37 * i + 45) % 100:02}",
            f"Order number {48213 + 1379 * i}",
            f"2026-{1 + i:02}-{28 - 2 * i:02} {8 + i:02}:{(13 * i + 25) % 60:02}",
            f"Shelf {17 + 9 * i} holds {name}",
            f"{name}@example.com",
        ]
    return made


def pictures() -> list[tuple[Image.Image, list[str]]]:
    """Pictures, and what is written in each."""
    font = ImageFont.load_default(TEXT)
    every = lines()
    made = []
    for first in range(0, len(every), PER_PICTURE):
        some = every[first : first + PER_PICTURE]
        picture = Image.new("RGB", SIZE, "white")
        pen = ImageDraw.Draw(picture)
        for row, line in enumerate(some):
            pen.text((30 + 20 * (row % 4), 20 + LEADING * row), line, font=font, fill=(20, 20, 40))
        made.append((picture, some))
    return made
