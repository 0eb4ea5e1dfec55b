"""Water simulated step by step by the model 'water', whose field stays on the device, with stones thrown in."""

import re
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import tritonclient.grpc as triton
from PIL import Image
from tritonclient.utils import InferenceServerException

from beside import Beside
from demo_options import showing

MODEL = "water"
SEQUENCE = "pond"
STEPS = 600
FILMED = 20  # steps from one picture to the next
STONES = {0: (110, 256, 0.4), 150: (300, 90, 0.4), 300: (200, 420, 0.4)}  # by step: x, y and height, in cells
NEAR = 1e-5  # of the height of the waves
FEW = 64  # bytes of a step that asks for figures only, each way
FIELD = 3 * 512 * 512 * 4  # bytes
COLOURS = np.array([(8, 29, 88), (34, 120, 180), (255, 255, 255)])  # of troughs, still water and crests


class Simulated:
    """What a client has of all steps."""

    def __init__(self) -> None:
        self.film: list[Image.Image] = []
        self.surface = np.zeros(0, np.float32)
        self.plain = (0.0, 0.0)  # bytes to the device and from it, of a step that asks for figures
        self.seconds = 0.0  # of all but the steps before the first picture


def main() -> int:
    parser = showing("pde", __doc__)
    options = parser.parse_args()
    with triton.InferenceServerClient(f"127.0.0.1:{options.grpc_port}") as client:
        try:
            seen = simulate(client, options.metrics_port)
        except InferenceServerException as error:
            print(f"the server does not answer: {error}", file=sys.stderr)
            return 1
    show(seen, options.folder)
    beside = Beside(options.folder)
    for number in range(STEPS):
        beside.step(stone(number))
    off = float(np.abs(seen.surface - beside.height).max())
    waves = float(np.ptp(beside.height))
    print(f"beside    numpy: after {STEPS} steps the surface differs by {off:.1g} at most, of waves {waves:.2f} high")
    if off > NEAR * waves or max(seen.plain) > FEW:
        print(f"          fails: {NEAR:g} of the waves' height and {FEW} bytes are wanted at most")
        return 1
    return 0


def simulate(client: triton.InferenceServerClient, metrics_port: int) -> Simulated:
    seen = Simulated()
    before = began = None
    print("  step    lowest   highest   mean level")
    for number in range(STEPS):
        wanted = ["figures"]
        if number % FILMED == FILMED - 1:
            wanted.append("picture")
        if number == STEPS - 1:
            wanted.append("surface")
        if number == 1:  # the first step brings the field there, all zeros
            before = moved(metrics_port)
        elif number == FILMED - 1:
            steps = number - 1
            seen.plain = tuple((after - b) / steps for after, b in zip(moved(metrics_port), before, strict=True))
            began = time.perf_counter()
        answer = ask(client, number, wanted)
        if (number + 1) % 100 == 0:
            mean, lowest, highest = answer.as_numpy("figures")
            print(f"{number + 1:6}{lowest:10.3f}{highest:10.3f}{mean:13.7f}")
        if "picture" in wanted:
            seen.film.append(coloured(answer.as_numpy("picture") / 255))
    seen.seconds = time.perf_counter() - began
    seen.surface = answer.as_numpy("surface")
    return seen


def stone(number: int) -> np.ndarray:
    return np.array(STONES.get(number, (0, 0, 0)), np.float32)


def ask(client: triton.InferenceServerClient, number: int, wanted: list[str]) -> triton.InferResult:
    """All there is to a step: what happens there, and what is wanted back. The field is the server's."""
    tensor = triton.InferInput("stone", [3], "FP32").set_data_from_numpy(stone(number))
    return client.infer(
        MODEL,
        [tensor],
        outputs=[triton.InferRequestedOutput(name) for name in wanted],
        sequence_id=SEQUENCE,
        sequence_start=number == 0,
        sequence_end=number == STEPS - 1,
    )


def moved(port: int) -> tuple[float, float]:
    """Bytes that went to the device for the model and came back from it, since the server started."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
        text = page.read().decode()
    found = (
        re.search(rf'^roundhouse_{what}_bytes_total\{{model="{MODEL}"\}} (\S+)$', text, re.MULTILINE)
        for what in ("inputs", "outputs")
    )
    to, back = (float(each[1]) for each in found)
    return to, back


def show(seen: Simulated, folder: Path) -> None:
    still, film = folder / "water.png", folder / "water.gif"
    coloured(np.clip(0.5 + 5 * seen.surface, 0, 1)).save(still)
    seen.film[0].save(film, save_all=True, append_images=seen.film[1:], duration=80, loop=0)
    timed = STEPS - FILMED + 1
    print(f"picture   {still}")
    print(f"film      {film}, {len(seen.film)} pictures")
    print(f"steps     {timed} in {seen.seconds:.1f} s: {timed / seen.seconds:.0f} a second, one after the other")
    to, back = seen.plain
    print(f"moved     {to:.0f} bytes to the device and {back:.0f} from it by a step that asks for figures,", end="")
    print(f" of a field of {FIELD:,}")


def coloured(heights: np.ndarray) -> Image.Image:
    """Of heights from 0, a trough, to 1, a crest."""
    stops = np.linspace(0, 1, len(COLOURS))
    channels = [np.interp(heights, stops, COLOURS[:, channel]) for channel in range(3)]
    return Image.fromarray(np.stack(channels, -1).astype(np.uint8))


if __name__ == "__main__":
    sys.exit(main())
