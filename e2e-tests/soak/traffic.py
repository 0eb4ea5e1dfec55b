"""Callers of a node, as a program that writes down what each of its requests began with and how it ended.

``python -m soak.traffic HISTORY SEED FIRST KIND CALLERS PAUSE DEADLINE CANCELLED_SHARE NAME,NAME GRPC,GRPC HTTP,HTTP``:
so many callers of a kind, the first of which has the number FIRST, by the stock client at the gateways of these names
and ports, which may be one twice. They rest until a line ``go`` is read, and again after ``rest``, which is answered by
``resting`` when no request is open. It goes when its input ends.
"""

import contextlib
import os
import queue
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import tritonclient.grpc as triton_grpc
import tritonclient.http as triton_http
import tritonclient.utils.shared_memory as shm
from tritonclient.utils import InferenceServerException

from soak import history, models
from soak.history import CANCELLED, LATE, LOST_REGION, LOST_SEQUENCE, UNAVAILABLE

CHANNEL = [
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 500),
]
REASON_SECONDS = 5
STATUS_OF_STREAMS = {"triton_grpc_error": "true"}  # else an error in a stream has a text and no status
HTTP_STATUSES = {"429": history.FULL, "503": UNAVAILABLE, "504": LATE}
CALLER_BITS = 25  # of a request's number: the lower ones count
STREAM_REQUESTS = 20
STEPS = (3, 12)
MOST_ADDED = 1000
FAILED_PAUSE = 0.1
TEXT = 300
SLOTS = 4096  # of a region: an answer that comes late is written where nobody looks any more
SLOT_BYTES = 4 * 64
RESTARTED = "must specify the START flag"
NO_REGION = "Unable to find shared memory region"
BUSY_MEBIBYTES = 12
SOON_SECONDS, AT_ONCE_SECONDS = 0.02, 0.005  # after which a request is taken back at the latest


@dataclass(frozen=True)
class Settings:
    kind: str
    pause: float
    deadline: float
    cancelled_share: float
    gateways: list[str]
    grpc: list[str]
    http: list[str]


class Log:
    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def write(self, *words: object) -> None:
        os.write(self._file, (" ".join(map(str, words)) + "\n").encode())


def outcome_of(failure: Exception) -> tuple[str, str]:
    """A status, and a text in one line."""
    text = " ".join(str(failure).split())[:TEXT]
    if isinstance(failure, TimeoutError):
        return LATE, f"the client has waited long enough: {text}"
    if not isinstance(failure, InferenceServerException):
        return (UNAVAILABLE if is_of_a_connection(failure) else "FAILED"), f"{type(failure).__name__}: {text}"
    if RESTARTED in text:
        return LOST_SEQUENCE, text
    if NO_REGION in text:
        return LOST_REGION, text
    status = str(failure.status()).removeprefix("StatusCode.")
    return HTTP_STATUSES.get(status, f"HTTP_{status}" if status.isdigit() else status), text


def is_of_a_connection(failure: Exception) -> bool:
    return isinstance(failure, OSError) or type(failure).__name__ == "HTTPConnectionClosed"


def tensors(library: Any, **arrays: np.ndarray) -> list[Any]:
    found = []
    for name, array in arrays.items():
        datatype = {"f": "FP32", "i": "INT32", "u": "UINT32"}[array.dtype.kind]
        found.append(library.InferInput(name, list(array.shape), datatype).set_data_from_numpy(array))
    return found


class Caller:
    """One thread. A request is written down before anything of it is sent, and once when it has ended."""

    def __init__(self, index: int, settings: Settings, log: Log, chance: random.Random, going: threading.Event) -> None:
        self.index, self.settings, self.log, self.chance, self.going = index, settings, log, chance, going
        self.count = 0
        self.rests = threading.Event()
        self.clients: dict[str, Any] = {}

    def run(self) -> None:
        while True:
            if not self.going.is_set():
                self.rests.set()
                self.going.wait()
            self.turn()
            time.sleep(self.settings.pause * self.chance.uniform(0.5, 1.5))

    def turn(self) -> None:
        """One request, or several that belong together."""
        raise NotImplementedError

    def gateway(self) -> int:
        return self.chance.randrange(2)

    def model(self) -> str:
        """Some are asked for often, most are not; few requests are of metas."""
        drawn = self.chance.random()
        if drawn < 0.05:
            return models.ENSEMBLE
        if drawn < 0.1:
            return models.WASTER
        return models.scale(int(models.SCALES * self.chance.random() ** 3))

    def client(self, gateway: int, library: Any = triton_grpc) -> Any:
        name = f"{library.__name__} {gateway}"
        if name not in self.clients:
            if library is triton_grpc:
                self.clients[name] = library.InferenceServerClient(self.settings.grpc[gateway], channel_args=CHANNEL)
            else:
                waits = self.settings.deadline
                self.clients[name] = library.InferenceServerClient(
                    self.settings.http[gateway], connection_timeout=waits, network_timeout=waits
                )
        return self.clients[name]

    def close_clients(self) -> None:
        for client in self.clients.values():
            with contextlib.suppress(Exception):
                client.close()
        self.clients.clear()

    def ask(
        self,
        gateway: int,
        model: str,
        call: Callable[[int], str],
        number: int | None = None,
        *more: int,
        left: float = 0,
        kind: str = "",
    ) -> bool:
        """Makes a request of its own number, or of the given one, and writes it down; whether it was answered."""
        self.count += 1
        name = f"{kind or self.settings.kind}-{self.index}-{self.count}"
        own = self.index << CALLER_BITS | self.count & (1 << CALLER_BITS) - 1 if number is None else number
        deadline = left or self.settings.deadline
        began = time.monotonic()
        self.log.write(
            "began", name, f"{began:.4f}", f"{deadline:.3f}", self.settings.gateways[gateway], model, own, *more
        )
        try:
            outcome, rest = history.OK, call(own)
        except Exception as failure:
            outcome, rest = outcome_of(failure)
        self.log.write("ended", name, f"{time.monotonic():.4f}", outcome, rest)
        if outcome not in (history.OK, CANCELLED):
            time.sleep(FAILED_PAUSE)
        return outcome == history.OK


def inputs_of(library: Any, model: str, number: int, mebibytes: int = 1) -> list[Any]:
    asked = {"x": models.row(number).reshape(1, -1)}
    if model == models.WASTER:
        asked["mebibytes"] = np.array([mebibytes], np.int32)
    return tensors(library, **asked)


def listed(array: np.ndarray | None) -> str:
    """The numbers of an output; nothing where the answer has none."""
    return "" if array is None else ",".join(f"{value:g}" if value % 1 else str(int(value)) for value in array.ravel())


class UnaryCaller(Caller):
    def turn(self) -> None:
        gateway, model = self.gateway(), self.model()
        if self.chance.random() < self.settings.cancelled_share:
            self.ask_and_cancel(gateway, model, SOON_SECONDS)
        else:
            self.ask(gateway, model, lambda number: self.infer(gateway, model, number))

    def ask_and_cancel(self, gateway: int, model: str, within: float) -> None:
        after = self.chance.random() * within
        self.ask(gateway, model, lambda number: self.cancel(gateway, model, number, after), kind=history.CANCELS)

    def infer(self, gateway: int, model: str, number: int) -> str:
        client = self.client(gateway)
        answer = client.infer(
            model, inputs_of(triton_grpc, model, number), client_timeout=self.settings.deadline, request_id=str(number)
        )
        return listed(answer.as_numpy("y"))

    def cancel(self, gateway: int, model: str, number: int, after: float) -> str:
        """Takes the request back; the answer may have been sooner."""
        ends: queue.Queue[tuple[Any, Exception | None]] = queue.Queue()
        waits = self.settings.deadline
        call = self.client(gateway).async_infer(
            model,
            inputs_of(triton_grpc, model, number),
            lambda result, error: ends.put((result, error)),
            client_timeout=waits,
        )
        time.sleep(after)
        call.cancel()
        result, error = ends.get(timeout=waits + history.GRACE_SECONDS)
        if error:
            raise error
        return listed(result.as_numpy("y"))


class CancellingCaller(UnaryCaller):
    def turn(self) -> None:
        self.ask_and_cancel(self.gateway(), self.model(), AT_ONCE_SECONDS)


class WastingCaller(UnaryCaller):
    """Has the meta make as much garbage as a request may."""

    def turn(self) -> None:
        gateway = self.gateway()

        def call(number: int) -> str:
            asked = inputs_of(triton_grpc, models.WASTER, number, BUSY_MEBIBYTES)
            return listed(
                self.client(gateway).infer(models.WASTER, asked, client_timeout=self.settings.deadline).as_numpy("y")
            )

        self.ask(gateway, models.WASTER, call)


class HttpCaller(Caller):
    def turn(self) -> None:
        gateway, model = self.gateway(), self.model()

        def call(number: int) -> str:
            asked = inputs_of(triton_http, model, number)
            return listed(self.client(gateway, triton_http).infer(model, asked).as_numpy("y"))

        if not self.ask(gateway, model, call):
            self.close_clients()  # whoever has failed may have left an answer on the connection


class StreamCaller(Caller):
    """Some requests, one after the other, in one stream that has one deadline."""

    requests = STREAM_REQUESTS

    def turn(self) -> None:
        gateway, waits = self.gateway(), 2 * self.settings.deadline
        ends: queue.Queue[tuple[Any, Exception | None]] = queue.Queue()
        client = triton_grpc.InferenceServerClient(self.settings.grpc[gateway], channel_args=CHANNEL)
        opened = time.monotonic()
        client.start_stream(
            lambda result, error: ends.put((result, error)), stream_timeout=waits, headers=STATUS_OF_STREAMS
        )
        try:
            for _ in range(self.requests):
                left = opened + waits - time.monotonic()
                if left < self.settings.deadline or not self.going.is_set():
                    break
                if not self.one(client, ends, gateway, left):
                    break
                time.sleep(self.settings.pause)
        finally:
            client.stop_stream(cancel_requests=True)
            client.close()

    def one(self, client: Any, ends: queue.Queue, gateway: int, left: float) -> bool:
        model = self.model()

        def call(number: int) -> str:
            send(client, ends, model, inputs_of(triton_grpc, model, number), request_id=str(number))
            answer = taken(ends, left, number)
            return listed(answer.as_numpy("y"))

        return self.ask(gateway, model, call, left=left)


class PartsCaller(StreamCaller):
    """Requests that are answered in as many parts as their number has digits."""

    def one(self, client: Any, ends: queue.Queue, gateway: int, left: float) -> bool:
        def call(number: int) -> str:
            digits = np.array(models.digits(number), np.int32)
            asked = tensors(triton_grpc, IN=digits, DELAY=np.zeros(len(digits), np.uint32), WAIT=np.zeros(1, np.uint32))
            send(client, ends, models.PARTS, asked, request_id=str(number), enable_empty_final_response=True)
            return ",".join(parts(ends, left, number))

        return self.ask(gateway, models.PARTS, call, left=left)


def send(client: Any, ends: queue.Queue, model: str, asked: list[Any], **options: Any) -> None:
    """The client refuses what is for a stream that has ended; a thread of it says why, perhaps a moment later."""
    try:
        client.async_stream_infer(model, asked, **options)
    except InferenceServerException:
        with contextlib.suppress(queue.Empty):
            raise ends.get(timeout=REASON_SECONDS)[1] from None
        raise


def taken(ends: queue.Queue, seconds: float, number: int) -> Any:
    """The next answer of a stream, which must be to this request."""
    try:
        result, error = ends.get(timeout=seconds + history.GRACE_SECONDS / 2)
    except queue.Empty:
        raise RuntimeError("the stream says nothing beyond its deadline") from None
    if error:
        raise error
    if result.get_response().id != str(number):
        raise RuntimeError(f"an answer to '{result.get_response().id}'")
    return result


def parts(ends: queue.Queue, seconds: float, number: int) -> Iterator[str]:
    end = time.monotonic() + seconds
    while True:
        answer = taken(ends, end - time.monotonic(), number)
        if answer.get_response().outputs:
            yield listed(answer.as_numpy("OUT"))
        if answer.get_response().parameters["triton_final_response"].bool_param:
            return


class SummingCaller(Caller):
    """A sequence after the other; what has failed in one ends it, as its state is not known any more."""

    sequences = 0

    def turn(self) -> None:
        self.sequences += 1
        sequence = self.index << CALLER_BITS | self.sequences
        library = (triton_grpc, triton_http)[self.index % 2]
        gateway, steps = self.gateway(), self.chance.randint(*STEPS)
        for step in range(steps):
            value = self.chance.randint(1, MOST_ADDED)
            if not self.ask(
                gateway, models.SUMS, self.step_of(library, gateway, sequence, step, steps), value, sequence, step
            ):
                self.close_clients()
                return
            gateway = self.gateway()  # any of them finds the worker that has the state
            time.sleep(self.settings.pause / 2)

    def step_of(self, library: Any, gateway: int, sequence: int, step: int, steps: int) -> Callable[[int], str]:
        def call(value: int) -> str:
            waits = {"client_timeout": self.settings.deadline} if library is triton_grpc else {}
            answer = self.client(gateway, library).infer(
                models.SUMS,
                tensors(library, INPUT=np.array([[value]], np.int32)),
                sequence_id=sequence,
                sequence_start=step == 0,
                sequence_end=step == steps - 1,
                **waits,
            )
            return ",".join(listed(answer.as_numpy(name)) for name in ("OUTPUT", "SEQUENCE", "STARTED"))

        return call


class SharingCaller(Caller):
    """Tensors in a region of its own: two inputs and two outputs in each of its slots."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.name = f"soak-{os.getpid()}-{self.index}"
        self.region = shm.create_shared_memory_region(self.name, f"/{self.name}", SLOTS * SLOT_BYTES)
        self.registered: set[int] = set()

    def turn(self) -> None:
        gateway = self.gateway()
        if not self.ask(gateway, models.SIMPLE, lambda number: self.infer(gateway, number)):
            self.registered.discard(gateway)

    def infer(self, gateway: int, number: int) -> str:
        client = self.client(gateway)
        if gateway not in self.registered:
            self.register(client)
            self.registered.add(gateway)
        slot = self.count % SLOTS * SLOT_BYTES
        digits = np.zeros(16, np.int32)
        digits[:4] = models.digits(number)
        shm.set_shared_memory_region(self.region, [digits, np.full(16, 3, np.int32), np.zeros(32, np.int32)], slot)
        asked = [triton_grpc.InferInput(f"INPUT{i}", [1, 16], "INT32") for i in range(2)]
        wanted = [triton_grpc.InferRequestedOutput(f"OUTPUT{i}") for i in range(2)]
        for i in range(2):
            asked[i].set_shared_memory(self.name, 64, offset=slot + i * 64)
            wanted[i].set_shared_memory(self.name, 64, offset=slot + (2 + i) * 64)
        client.infer(models.SIMPLE, asked, outputs=wanted, client_timeout=self.settings.deadline)
        total = shm.get_contents_as_numpy(self.region, np.int32, [1, 16], offset=slot + 128)
        return listed(total[0, :4])

    def register(self, client: Any) -> None:
        """With whichever workers the gateway has now, in the place of what they may have had."""
        waits = self.settings.deadline / 2
        client.unregister_system_shared_memory(self.name, client_timeout=waits)
        client.register_system_shared_memory(self.name, f"/{self.name}", SLOTS * SLOT_BYTES, client_timeout=waits)

    def end(self) -> None:
        with contextlib.suppress(InferenceServerException):
            self.client(0).unregister_system_shared_memory(self.name, client_timeout=self.settings.deadline)
        shm.destroy_shared_memory_region(self.region)


KINDS: dict[str, type[Caller]] = {
    history.UNARY: UnaryCaller,
    history.HTTP: HttpCaller,
    history.STREAM: StreamCaller,
    history.PARTS: PartsCaller,
    history.SUMS: SummingCaller,
    history.SHARED: SharingCaller,
    history.CANCELS: CancellingCaller,
    history.GARBAGE: WastingCaller,
}


def main() -> None:
    path, seed, first, kind, count, pause, deadline, share, *gateways = sys.argv[1:]
    names, grpc, http = (each.split(",") for each in gateways)
    settings = Settings(kind, float(pause), float(deadline), float(share), names, grpc, http)
    going = threading.Event()
    log = Log(path)
    callers = [
        KINDS[kind](index, settings, log, random.Random(f"{seed} {index}"), going)
        for index in range(int(first), int(first) + int(count))
    ]
    for caller in callers:
        threading.Thread(target=caller.run, daemon=True).start()
    for line in sys.stdin:
        if line.strip() == "go":
            for caller in callers:
                caller.rests.clear()  # here: one that has not woken up when it is to rest again does not rest yet
            going.set()
        else:
            going.clear()
            for caller in callers:
                caller.rests.wait()
            print("resting", flush=True)
    for caller in callers:
        if isinstance(caller, SharingCaller):
            caller.end()
    os._exit(0)


if __name__ == "__main__":
    main()
