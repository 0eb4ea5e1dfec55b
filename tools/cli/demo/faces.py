"""Faces found in a picture by the model 'faces', whose hooks take a PNG or a JPEG and answer with boxes."""

import io
import sys
import time
from pathlib import Path

import numpy as np
import tritonclient.grpc as triton
from PIL import Image, ImageDraw, ImageOps
from tritonclient.utils import InferenceServerException

from beside import Beside
from demo_options import showing
from photographs import picture

MODEL = "faces"
TIMED = 20
NEAR = 1e-3  # pixels
OUTPUTS = ("boxes", "scores", "landmarks")

Faces = tuple[np.ndarray, np.ndarray, np.ndarray]


def main() -> int:
    parser = showing("faces", __doc__)
    parser.add_argument("picture", type=Path, nargs="?", help="a PNG or JPEG of your own")
    options = parser.parse_args()

    seen = opened(options.picture) if options.picture else picture(options.cache)
    # Decoders of JPEG differ by a level or two, so what is compared travels without loss.
    file = io.BytesIO()
    seen.save(file, "PNG")
    with triton.InferenceServerClient(f"127.0.0.1:{options.grpc_port}") as client:
        try:
            ours = ask(client, file.getvalue())
            seconds = [timed(client, file.getvalue()) for _ in range(TIMED)]
        except InferenceServerException as error:
            print(f"the server does not answer: {error}", file=sys.stderr)
            return 1
    drawn = options.folder / "faces.png"
    draw(seen, ours).save(drawn)
    show(seen, ours, seconds)
    near = compare(ours, Beside(options.folder / "faces.onnx").faces(np.asarray(seen)))
    print(f"picture   {drawn}")
    return 0 if near else 1


def opened(path: Path) -> Image.Image:
    try:
        with Image.open(path) as image:
            return ImageOps.exif_transpose(image).convert("RGB")
    except (OSError, ValueError) as error:
        raise SystemExit(f"{path} is no picture: {error}") from error


def ask(client: triton.InferenceServerClient, file: bytes) -> Faces:
    """All there is to a call: a file's bytes there, boxes back."""
    tensor = triton.InferInput("picture", [1], "BYTES").set_data_from_numpy(np.array([file], np.object_))
    answer = client.infer(MODEL, [tensor])
    boxes, scores, landmarks = (answer.as_numpy(name) for name in OUTPUTS)
    return boxes, scores, landmarks


def timed(client: triton.InferenceServerClient, file: bytes) -> float:
    began = time.perf_counter()
    ask(client, file)
    return time.perf_counter() - began


def draw(seen: Image.Image, faces: Faces) -> Image.Image:
    drawn = seen.copy()
    pen = ImageDraw.Draw(drawn)
    thick = max(2, max(seen.size) // 400)
    for box, score, marks in zip(*faces, strict=True):
        pen.rectangle(box.tolist(), outline="lime", width=thick)
        pen.text((box[0] + thick + 1, box[1] + thick), f"{score:.2f}", fill="lime")
        for x, y in marks.tolist():
            pen.ellipse((x - thick, y - thick, x + thick, y + thick), fill="red")
    return drawn


def show(seen: Image.Image, faces: Faces, seconds: list[float]) -> None:
    boxes, scores, _ = faces
    print(f"{len(boxes)} face{'s' if len(boxes) != 1 else ''} in a picture of {seen.width} x {seen.height}:\n")
    print(f"{'score':>5}  {'left':>7} {'top':>7} {'right':>7} {'bottom':>7}")
    for box, score in zip(boxes, scores, strict=True):
        print(f"{score:5.2f}  " + " ".join(f"{side:7.1f}" for side in box))
    print(f"\nlatency   p50 {np.median(seconds) * 1e3:.1f} ms, worst {max(seconds) * 1e3:.1f} ms, one picture a call")


def compare(ours: Faces, theirs: Faces) -> bool:
    """Prints how far ours are from those of onnxruntime and numpy; says whether that is near."""
    beside = "beside    onnxruntime and numpy, on the same weights:"
    if len(ours[0]) != len(theirs[0]):
        print(f"{beside} {len(theirs[0])} faces, which are not as many")
        return False
    boxes, scores, landmarks = (float(np.abs(a - b).max(initial=0)) for a, b in zip(ours, theirs, strict=True))
    near = max(boxes, landmarks) <= NEAR
    print(f"{beside} boxes differ by {boxes:.1g} px at most, landmarks by {landmarks:.1g} px, scores by {scores:.1g}")
    if not near:
        print(f"          which is more than {NEAR:g} px")
    return near


if __name__ == "__main__":
    sys.exit(main())
