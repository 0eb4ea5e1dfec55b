"""Shapes found in pictures by the meta 'detect', torchvision's Faster R-CNN in two programs with Java between them."""

import itertools
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import tritonclient.grpc as triton
from PIL import Image, ImageDraw, ImageOps
from tritonclient.utils import InferenceServerException

from demo_options import showing
from rendered import Shape, pictures

MODEL = "detect"
SEED, PICTURES = 1, 12
NEAR_BOX, NEAR_SCORE = 1e-2, 1e-5  # pixels
OVERLAP = 0.5  # with which a shape counts as found
LEAST = 0.9  # of the shapes
OUTPUTS = ("boxes", "labels", "scores", "names")
COLOURS = ("red", "lime", "cyan", "yellow")

Found = dict[str, np.ndarray]


def main() -> int:
    parser = showing("detect", __doc__)
    parser.add_argument("picture", type=Path, nargs="?", help="a PNG or JPEG of your own")
    options = parser.parse_args()
    shown = [(opened(options.picture), [])] if options.picture else list(itertools.islice(pictures(SEED), PICTURES))
    pixels = [np.asarray(picture) for picture, _ in shown]
    ours, seconds = [], []
    with triton.InferenceServerClient(f"127.0.0.1:{options.grpc_port}") as client:
        for each in pixels:
            began = time.perf_counter()
            try:
                ours.append(ask(client, each))
            except InferenceServerException as error:
                print(f"the server does not answer: {error}", file=sys.stderr)
                return 1
            seconds.append(time.perf_counter() - began)
    for number, ((picture, _), found) in enumerate(zip(shown, ours, strict=True), 1):
        show(found)
        drawn = options.folder / f"detect-{number}.png"
        draw(picture, found).save(drawn)
        print(f"picture   {drawn}\n")
    print(f"latency   p50 {np.median(seconds) * 1e3:.1f} ms, worst {max(seconds) * 1e3:.1f} ms, one picture a call")
    near = compare(ours, beside(options.export_python, options.folder, pixels))
    enough = options.picture is not None or count(ours, [shapes for _, shapes in shown])
    return 0 if near and enough else 1


def opened(path: Path) -> Image.Image:
    try:
        with Image.open(path) as image:
            return ImageOps.exif_transpose(image).convert("RGB")
    except (OSError, ValueError) as error:
        raise SystemExit(f"{path} is no picture: {error}") from error


def ask(client: triton.InferenceServerClient, pixels: np.ndarray) -> Found:
    """All there is to a call: pixels there, boxes back."""
    tensor = triton.InferInput("image", list(pixels.shape), "UINT8").set_data_from_numpy(pixels)
    answer = client.infer(MODEL, [tensor])
    return {name: answer.as_numpy(name) for name in OUTPUTS}


def beside(python: Path, folder: Path, pixels: list[np.ndarray]) -> list[Found]:
    """What torchvision finds, in an environment that has it."""
    asked, answered = folder / "asked.npz", folder / "answered.npz"
    np.savez(asked, **{str(number): each for number, each in enumerate(pixels)})
    script = Path(__file__).parent / "detect" / "beside.py"
    subprocess.run([python, script, folder / "detector.pt", asked, answered], check=True)
    with np.load(answered) as given:
        names = ("boxes", "labels", "scores")
        return [{name: given[f"{number}.{name}"] for name in names} for number in range(len(pixels))]


def show(found: Found) -> None:
    print(f"{'score':>5}  {'left':>7} {'top':>7} {'right':>7} {'bottom':>7}")
    for box, score, name in zip(found["boxes"], found["scores"], found["names"], strict=True):
        print(f"{score:5.2f}  " + " ".join(f"{side:7.1f}" for side in box) + f"  {name.decode()}")


def draw(picture: Image.Image, found: Found) -> Image.Image:
    larger = 3 if max(picture.size) < 400 else 1  # so that names can be read
    drawn = picture.resize((picture.width * larger, picture.height * larger))
    pen = ImageDraw.Draw(drawn)
    for box, label, score, name in zip(*(found[key] for key in OUTPUTS), strict=True):
        left, top, right, bottom = (box * larger).tolist()
        colour = COLOURS[label % len(COLOURS)]
        pen.rectangle((left, top, right, bottom), outline=colour, width=2)
        pen.text((left + 4, top + 3), f"{name.decode()} {score:.2f}", fill=colour, stroke_width=1, stroke_fill="black")
    return drawn


def compare(ours: list[Found], theirs: list[Found]) -> bool:
    """Prints how far ours are from torchvision's; says whether that is near."""
    line = "beside    torchvision, on the same weights:"
    boxes = scores = 0.0
    for number, (our, their) in enumerate(zip(ours, theirs, strict=True), 1):
        our_labels, our_boxes = ordered(our)
        their_labels, their_boxes = ordered(their)
        if our_labels.tolist() != their_labels.tolist():
            print(f"{line} labels {their_labels} in picture {number}, and ours are {our_labels}")
            return False
        boxes = max(boxes, float(np.abs(our_boxes - their_boxes).max(initial=0)))
        scores = max(scores, float(np.abs(our["scores"] - their["scores"]).max(initial=0)))
    total = sum(len(our["labels"]) for our in ours)
    print(f"{line} the same {total} labels, boxes differ by {boxes:.1g} px at most, scores by {scores:.1g}")
    near = boxes <= NEAR_BOX and scores <= NEAR_SCORE
    if not near:
        print(f"          which is more than {NEAR_BOX:g} px or {NEAR_SCORE:g}")
    return near


def ordered(found: Found) -> tuple[np.ndarray, np.ndarray]:
    """Labels and boxes by label and place: two whose scores are all but equal may change places in an answer."""
    order = np.lexsort((found["boxes"][:, 0], found["labels"]))
    return found["labels"][order], found["boxes"][order]


def count(ours: list[Found], drawn: list[list[Shape]]) -> bool:
    """Prints how many of the shapes that are in the pictures were found; says whether those are enough."""
    right = sum(
        any(
            name.decode() == shape.kind and overlap(box, shape.box) >= OVERLAP
            for box, name in zip(found["boxes"], found["names"], strict=True)
        )
        for found, shapes in zip(ours, drawn, strict=True)
        for shape in shapes
    )
    total = sum(map(len, drawn))
    others = sum(len(found["names"]) for found in ours) - right
    print(f"shapes    {right} of {total} found, and {others} that are none or another")
    enough = right >= LEAST * total
    if not enough:
        print(f"          {LEAST:.0%} are wanted")
    return enough


def overlap(one: np.ndarray, other: tuple[float, ...]) -> float:
    """Intersection over union."""
    across, down = (min(one[i + 2], other[i + 2]) - max(one[i], other[i]) for i in (0, 1))
    both = max(across, 0) * max(down, 0)
    areas = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other))
    return float(both / (areas - both))


if __name__ == "__main__":
    sys.exit(main())
