"""Texts continued character by character by the meta 'stream', each printed when it comes, over HTTP and gRPC."""

import http.client
import json
import queue
import re
import sys
import time
import urllib.request
from collections.abc import Iterator

import numpy as np
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

from beside import Beside
from demo_options import showing

META, DECODER = "stream", "decoder"
ZEN = "The Zen of Python"
BEGINNINGS = (ZEN, "str.upper:", "math.sqrt:")
MOST = 1000  # characters of an answer
LEFT_AFTER = 5
PATIENCE = 30  # seconds


class Answered:
    """The characters of an answer, and when they came."""

    def __init__(self) -> None:
        self.characters: list[str] = []
        self._asked = self._first = self._last = time.perf_counter()

    def add(self, character: str) -> None:
        self._last = time.perf_counter()
        if not self.characters:
            self._first = self._last
        self.characters.append(character)

    @property
    def first(self) -> float:
        return self._first - self._asked

    @property
    def a_second(self) -> float:
        return (len(self.characters) - 1) / max(self._last - self._first, 1e-9)


def main() -> int:
    parser = showing("stream", __doc__)
    parser.add_argument("text", nargs="?", help="how a text of your own begins")
    options = parser.parse_args()
    beginnings = (options.text,) if options.text is not None else BEGINNINGS
    over_http, over_grpc = [], []
    try:
        for beginning in beginnings:
            over_http.append(shown(options.http_port, beginning))
            over_grpc.append(by_grpc(options.grpc_port, beginning))
        runs = left(options.http_port, options.metrics_port)
    except InferenceServerException as error:
        print(f"it fails: {error}", file=sys.stderr)
        return 1
    print(f"first     character after {first(over_http)} over HTTP, {first(over_grpc)} over gRPC")
    print(f"rate      {rate(over_http):.0f} characters a second over HTTP, {rate(over_grpc):.0f} over gRPC")
    print(f"left      after {LEFT_AFTER} characters of an answer: the decoder had run {runs} times, and runs no more")
    beside = Beside(options.folder)
    wanted = [beside.continued(beginning, MOST) for beginning in beginnings]
    same = sum(w == h.characters == g.characters for w, h, g in zip(wanted, over_http, over_grpc, strict=True))
    print(f"beside    JAX: {same} of {len(wanted)} texts the same, {sum(map(len, wanted))} characters")
    if same < len(wanted):
        print("          fails: all are wanted the same, over HTTP and gRPC")
        return 1
    return 0


def shown(port: int, beginning: str) -> Answered:
    """An answer over HTTP, printed while it comes."""
    answered = Answered()
    print(beginning, end="", flush=True)
    for character in by_http(port, beginning):
        answered.add(character)
        print(character, end="", flush=True)
    print("\n")
    return answered


def by_http(port: int, beginning: str) -> Iterator[str]:
    """All there is to a call: an event for each character."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    body = json.dumps({"text_input": beginning, "max_tokens": MOST})
    try:
        connection.request("POST", f"/v2/models/{META}/generate_stream", body)
        answer = connection.getresponse()
        if answer.status != 200:
            raise InferenceServerException(json.load(answer)["error"])
        for line in answer:
            if line.startswith(b"data: "):
                event = json.loads(line.removeprefix(b"data: "))
                if "error" in event:
                    raise InferenceServerException(event["error"])
                yield event["text_output"]
    finally:
        connection.close()


def by_grpc(port: int, beginning: str) -> Answered:
    """The same by ModelStreamInfer."""
    inputs = [
        triton.InferInput("text_input", [1], "BYTES").set_data_from_numpy(np.array([beginning.encode()], np.object_)),
        triton.InferInput("max_tokens", [1], "INT32").set_data_from_numpy(np.array([MOST], np.int32)),
    ]
    parts: queue.Queue[tuple[triton.InferResult, InferenceServerException | None]] = queue.Queue()
    with triton.InferenceServerClient(f"127.0.0.1:{port}") as client:
        client.start_stream(lambda result, error: parts.put((result, error)))
        answered = Answered()
        client.async_stream_infer(META, inputs, enable_empty_final_response=True)
        while True:
            part, error = parts.get(timeout=PATIENCE)
            if error is not None:
                raise error
            if part.get_response().parameters["triton_final_response"].bool_param:
                return answered
            answered.add(part.as_numpy("text_output")[0].decode())


def left(http_port: int, metrics_port: int) -> int:
    """Leaves an answer after some characters; returns how often the decoder ran for it, once it does not any more."""
    gone = counted(metrics_port, "requests_cancelled", META)
    before = counted(metrics_port, "executions", DECODER)
    answer = by_http(http_port, ZEN)
    for _ in range(LEFT_AFTER):
        next(answer)
    answer.close()
    ends = time.monotonic() + PATIENCE
    while counted(metrics_port, "requests_cancelled", META) == gone:
        if time.monotonic() > ends:
            raise InferenceServerException(f"an answer that was left has not ended after {PATIENCE} s")
        time.sleep(0.01)
    runs = counted(metrics_port, "executions", DECODER)
    time.sleep(0.5)
    more = counted(metrics_port, "executions", DECODER) - runs
    if more > 1:  # the one that was under way
        raise InferenceServerException(f"the decoder ran {more} times for an answer that was left")
    return runs + more - before


def counted(port: int, what: str, model: str) -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
        text = page.read().decode()
    found = re.search(rf'^roundhouse_{what}_total\{{model="{model}"\}} (\S+)$', text, re.MULTILINE)
    return round(float(found[1]))


def first(answers: list[Answered]) -> str:
    return f"{np.median([each.first for each in answers]) * 1e3:.0f} ms"


def rate(answers: list[Answered]) -> float:
    """Of the longest answer."""
    return max(answers, key=lambda each: len(each.characters)).a_second


if __name__ == "__main__":
    sys.exit(main())
