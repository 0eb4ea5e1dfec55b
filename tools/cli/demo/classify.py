"""Files told apart by the model 'magika', whose hooks take their bytes and answer with labels."""

import random
import sys
import time
from pathlib import Path

import numpy as np
import tritonclient.grpc as triton
from magika import Magika
from tritonclient.utils import InferenceServerException

from demo_options import showing

MODEL = "magika"
TIMED = 50
NEAR = 1e-4
BLOCK = 4096  # bytes of each end that the model's hooks look at
OURS = (
    "README.md",
    "roundhouse",
    "pom.xml",
    "docker/Dockerfile",
    "docker/compose.yaml",
    "examples/embed/Model.java",
    "examples/embed/texts.txt",
    "examples/embed/sentence-transformers.npz",
    "examples/models/digits/manifest.yaml",
    "pjrt-binding/src/main/native/CMakeLists.txt",
    "pjrt-binding/src/main/native/pjrt_client.cc",
    "tools/cli/demo/classify.py",
)
# Too little to go by, nothing but space, and no kind of file.
ODD = (b"", b"abc", b"\xff\xfe", b" \n\t" * 3000, b"  short \n", b"\x00" * 5000, random.Random(1).randbytes(9000))

Kinds = tuple[list[str], np.ndarray]


def main() -> int:
    parser = showing("classify", __doc__)
    parser.add_argument("file", type=Path, nargs="*", help="files of your own")
    options = parser.parse_args()
    root = options.example.parents[1]

    paths = options.file or [root / name for name in OURS]
    odd = () if options.file else ODD
    files = [*map(ends, paths), *(ends_of(content) for content in odd)]
    with triton.InferenceServerClient(f"127.0.0.1:{options.grpc_port}") as client:
        try:
            labels, scores = ask(client, files)
            seconds = [timed(client, files[0]) for _ in range(TIMED)]
        except InferenceServerException as error:
            print(f"the server does not answer: {error}", file=sys.stderr)
            return 1
    names = [str(path.relative_to(root)) if path.is_relative_to(root) else str(path) for path in paths]
    for name, label, score in zip(names, labels, scores, strict=False):
        print(f"{score:5.2f}  {label:14} {name}")
    print(f"\nlatency   p50 {np.median(seconds) * 1e3:.2f} ms, worst {max(seconds) * 1e3:.2f} ms, one file a call")
    return 0 if compare((labels, scores), names, theirs(paths, odd)) else 1


def ends(path: Path) -> bytes:
    """Of a large file no more is sent than is looked at."""
    with path.open("rb") as file:
        size = path.stat().st_size
        if size <= 2 * BLOCK:
            return file.read()
        begin = file.read(BLOCK)
        file.seek(size - BLOCK)
        return begin + file.read(BLOCK)


def ends_of(content: bytes) -> bytes:
    return content if len(content) <= 2 * BLOCK else content[:BLOCK] + content[-BLOCK:]


def ask(client: triton.InferenceServerClient, files: list[bytes]) -> Kinds:
    """All there is to a call."""
    tensor = triton.InferInput("file", [len(files)], "BYTES").set_data_from_numpy(np.array(files, np.object_))
    answer = client.infer(MODEL, [tensor])
    return [label.decode() for label in answer.as_numpy("label")], answer.as_numpy("score")


def timed(client: triton.InferenceServerClient, file: bytes) -> float:
    began = time.perf_counter()
    ask(client, [file])
    return time.perf_counter() - began


def theirs(paths: list[Path], odd: tuple[bytes, ...]) -> Kinds:
    package = Magika()
    found = [*package.identify_paths(paths), *map(package.identify_bytes, odd)]
    return [str(each.output.label) for each in found], np.array([each.score for each in found], np.float32)


def compare(ours: Kinds, names: list[str], package: Kinds) -> bool:
    """Prints how far ours are from what the package itself says; says whether they are the same."""
    names = [*names, *(f"odd one {number}" for number in range(1, len(ours[0]) - len(names) + 1))]
    same = True
    for name, label, other in zip(names, ours[0], package[0], strict=True):
        if label != other:
            print(f"beside    magika takes {name} for {other}, we for {label}")
            same = False
    off = float(np.abs(ours[1] - package[1]).max(initial=0))
    verdict = f"the same labels for {len(names)} files, " if same else ""
    print(f"beside    magika's own package: {verdict}scores differ by {off:.1g} at most")
    return same and off <= NEAR


if __name__ == "__main__":
    sys.exit(main())
