"""Lines of text read out of pictures by the meta 'read', which calls a model that finds and models that read."""

import sys
import time
from pathlib import Path

import numpy as np
import tritonclient.grpc as triton
from PIL import Image, ImageDraw, ImageOps
from tritonclient.utils import InferenceServerException

from beside import Beside
from demo_options import showing
from lines import pictures

MODEL = "read"
NEAR = 1e-3  # scores
LEAST = 0.98  # of the lines
OUTPUTS = ("text", "boxes", "scores")

Lines = tuple[list[str], np.ndarray, np.ndarray]


def main() -> int:
    parser = showing("read", __doc__)
    parser.add_argument("picture", type=Path, nargs="?", help="a PNG or JPEG of your own")
    options = parser.parse_args()
    asked = [(opened(options.picture), None)] if options.picture else pictures()
    beside = Beside(options.folder)
    right = exact = total = found = other = 0
    furthest = 0.0
    seconds = []
    with triton.InferenceServerClient(f"127.0.0.1:{options.grpc_port}") as client:
        for number, (seen, written) in enumerate(asked, 1):
            pixels = np.asarray(seen)
            began = time.perf_counter()
            try:
                answer = ask(client, pixels)
            except InferenceServerException as error:
                print(f"the server does not answer: {error}", file=sys.stderr)
                return 1
            seconds.append(time.perf_counter() - began)
            texts, boxes, scores = answer
            for text, box, score in zip(texts, boxes, scores, strict=True):
                print(f"{score:5.2f}  {text}")
                theirs, near = beside.read(pixels, box)
                other += theirs != text
                furthest = max(furthest, abs(near - float(score)))
            found += len(texts)
            if written is not None:
                total += len(written)
                exact += sum(line in texts for line in written)
                unspaced = [text.replace(" ", "") for text in texts]
                for line in written:
                    if line.replace(" ", "") in unspaced:
                        right += 1
                    else:
                        print(f"       not read: {line}")
            drawn = options.folder / f"read-{number}.png"
            draw(seen, answer).save(drawn)
            print(f"picture   {drawn}\n")
    print(f"latency   p50 {np.median(seconds) * 1e3:.1f} ms, worst {max(seconds) * 1e3:.1f} ms, one picture a call")
    print(f"beside    onnxruntime on the reader's weights: {found - other} of {found} texts the same, ", end="")
    print(f"scores differ by {furthest:.1g} at most")
    if total:
        print(f"lines     {right} of {total} read, spaces aside, which this reader often leaves out; {exact} with all")
    if other or furthest > NEAR or right < LEAST * total:
        print(f"          fails: all texts the same, scores within {NEAR:g} and {LEAST:.0%} of the lines are wanted")
        return 1
    return 0


def opened(path: Path) -> Image.Image:
    try:
        with Image.open(path) as image:
            return ImageOps.exif_transpose(image).convert("RGB")
    except (OSError, ValueError) as error:
        raise SystemExit(f"{path} is no picture: {error}") from error


def ask(client: triton.InferenceServerClient, pixels: np.ndarray) -> Lines:
    """All there is to a call: pixels there, lines back."""
    tensor = triton.InferInput("image", list(pixels.shape), "UINT8").set_data_from_numpy(pixels)
    answer = client.infer(MODEL, [tensor])
    texts, boxes, scores = (answer.as_numpy(name) for name in OUTPUTS)
    return [text.decode() for text in texts], boxes, scores


def draw(seen: Image.Image, answer: Lines) -> Image.Image:
    drawn = seen.copy()
    pen = ImageDraw.Draw(drawn)
    for box in answer[1]:
        pen.rectangle(box.tolist(), outline="red", width=2)
    return drawn


if __name__ == "__main__":
    sys.exit(main())
