"""Clients that send a byte a second, or read nothing, each by a connection of its own; as a program.

``slow_peers.py GRPC_PORT HTTP_PORT PEERS [--again]`` opens PEERS slow readers and PEERS slow senders at each port, and
prints a line of JSON when all of them hang: how many peers there are of each kind. Each line it reads then is answered
with one that says how the peers of each kind were ended so far. It goes when its input ends. ``--again``: a peer that
is ended is replaced by one like it.
"""

import json
import select
import socket
import struct
import sys
import time
from collections import Counter
from dataclasses import dataclass

from tritonclient.grpc.service_pb2 import ModelInferRequest

from calls import request, simple_inputs
from widening_bundle import numbers

DATA, HEADERS, RST_STREAM, SETTINGS, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 7, 8
END_STREAM, ACK, END_HEADERS = 1, 1, 4
INITIAL_WINDOW_SIZE = 4
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
WIDE_OPEN = 2**31 - 1
FIRST_WINDOW = 65_535
TRICKLE_SECONDS = 1
RECEIVE_BUFFER = 4096
PREFIX_BYTES = 5
ROWS = 1
# Of an answer that no socket's buffers take whole for a client that does not read.
LARGE_ROWS = 20
# A message is received in memory that grows with what has come: this much of it is there from the beginning.
LARGE_MESSAGE = 4 << 20
LARGE_FIRST = 1 << 20
STREAM = "/inference.GRPCInferenceService/ModelStreamInfer"
INFER = "/inference.GRPCInferenceService/ModelInfer"


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def settings(window: int) -> bytes:
    return PREFACE + frame(SETTINGS, 0, 0, struct.pack(">HI", INITIAL_WINDOW_SIZE, window))


def headers(path: str) -> bytes:
    """The block of a call, in literals that nobody is to remember."""
    fields = {":method": "POST", ":scheme": "http", ":path": path, ":authority": "a"}
    fields |= {"content-type": "application/grpc", "te": "trailers"}
    block = b""
    for name, value in fields.items():
        assert len(name) < 127
        assert len(value) < 127
        block += b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
    return block


def framed(message: bytes) -> bytes:
    return struct.pack(">BI", 0, len(message)) + message


def grpc_call(message: ModelInferRequest) -> bytes:
    body = framed(message.SerializeToString())
    return frame(HEADERS, END_HEADERS, 1, headers(INFER)) + frame(DATA, END_STREAM, 1, body)


def data_bytes(body: bytes) -> list[bytes]:
    """Every byte in a frame of its own."""
    return [frame(DATA, 0, 1, bytes([each])) for each in body]


def single_bytes(text: bytes) -> list[bytes]:
    return [bytes([each]) for each in text]


def simple_request() -> bytes:
    return framed(request("simple", simple_inputs()).SerializeToString())


def large_request() -> bytes:
    """The beginning of a request that announces a large one."""
    return struct.pack(">BI", 0, LARGE_MESSAGE) + b"\n" * 4096


def http_head(model: str, length: int, binary: int) -> bytes:
    return (
        f"POST /v2/models/{model}/infer HTTP/1.1\r\nHost: a\r\nContent-Type: application/octet-stream\r\n"
        f"Inference-Header-Content-Length: {binary}\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


def http_call(rows: int) -> bytes:
    asked = {"name": "number", "shape": [rows, 1], "datatype": "FP32", "data": numbers(rows)["number"].ravel().tolist()}
    body = json.dumps({"inputs": [asked], "parameters": {"binary_data_output": True}}).encode()
    return http_head("wide", len(body), len(body)) + body


@dataclass(frozen=True)
class Kind:
    """What a peer sends at once, what it then sends a part of each second, and whether it reads."""

    name: str
    http: bool
    share: float
    first: bytes
    trickle: tuple[bytes, ...] = ()
    reads: bool = True


def kinds() -> list[Kind]:
    """Readers and senders of gRPC and of HTTP; the shares of each of the four add up to one."""
    whole = request("wide", numbers(ROWS))
    large = request("wide", numbers(LARGE_ROWS))
    window = frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", WIDE_OPEN - FIRST_WINDOW))
    begun = settings(WIDE_OPEN) + frame(HEADERS, END_HEADERS, 1, headers(INFER))
    block = frame(HEADERS, END_HEADERS, 1, headers(INFER))
    idle = settings(WIDE_OPEN) + frame(HEADERS, END_HEADERS, 1, headers(STREAM))
    body = http_head("simple", 4096, 4096)
    large_body = http_head("simple", LARGE_MESSAGE, LARGE_MESSAGE)
    return [
        Kind("closed window", False, 0.5, settings(0) + grpc_call(whole)),
        Kind("unread socket", False, 0.45, settings(WIDE_OPEN) + window + grpc_call(whole), reads=False),
        Kind("large unread socket", False, 0.05, settings(WIDE_OPEN) + window + grpc_call(large), reads=False),
        Kind("slow message", False, 0.2, begun, tuple(data_bytes(simple_request()))),
        Kind("slow large message", False, 0.2, begun, tuple(data_bytes(large_request()))),
        Kind("slow headers", False, 0.2, settings(WIDE_OPEN), tuple(single_bytes(block))),
        Kind("silent", False, 0.2, b""),
        Kind("idle stream", False, 0.2, idle),
        Kind("unread HTTP answer", True, 0.95, http_call(ROWS), reads=False),
        Kind("large unread HTTP answer", True, 0.05, http_call(LARGE_ROWS), reads=False),
        Kind("slow HTTP body", True, 0.25, body, tuple(single_bytes(b" " * 4096))),
        Kind("slow large HTTP body", True, 0.25, large_body, tuple(single_bytes(b" " * 4096))),
        Kind("slow HTTP head", True, 0.25, b"POST /v2/models/simple/infer HTTP/1.1\r\nX: ", (b"x",) * 4096),
        Kind("silent HTTP", True, 0.25, b""),
    ]


class Peer:
    """One connection. ``end`` says how it was ended: by a reset of its call, a status, or by being closed."""

    def __init__(self, kind: Kind, port: int) -> None:
        self.kind = kind
        self.sent = 0
        self.end: str | None = None
        self.answer = b""
        self.socket = socket.socket()
        if not kind.reads:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.connect(("127.0.0.1", port))
        self.socket.sendall(kind.first)
        self.socket.setblocking(False)

    def tick(self) -> None:
        try:
            if self.sent < len(self.kind.trickle):
                self.socket.send(self.kind.trickle[self.sent])
                self.sent += 1
        except BlockingIOError:
            pass
        except OSError:
            self.end = self.end or "closed"

    def read(self) -> None:
        try:
            received = self.socket.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            received = b""
        if not received:
            self.end = self.end or "closed"
            return
        self.answer += received
        if self.kind.http:
            self.end = self.answer[9:12].decode() if len(self.answer) >= 12 else None
            return
        while len(self.answer) >= 9:
            length = int.from_bytes(self.answer[:3])
            if len(self.answer) < 9 + length:
                return
            self.take(self.answer[3], self.answer[4], self.answer[9 : 9 + length])
            self.answer = self.answer[9 + length :]

    def take(self, kind: int, flags: int, payload: bytes) -> None:
        if kind == RST_STREAM:
            self.end = self.end or f"reset {int.from_bytes(payload)}"
        elif kind == HEADERS and flags & END_STREAM:
            self.end = self.end or "status"
        elif kind == SETTINGS and not flags & ACK:
            self.socket.send(frame(SETTINGS, ACK, 0))


class Peers:
    def __init__(self, grpc_port: int, http_port: int, count: int, again: bool) -> None:
        self.ports = (grpc_port, http_port)
        self.again = again
        self.events = select.epoll()
        self.open: dict[int, Peer] = {}
        self.ended: dict[str, Counter[str]] = {}
        self.counts: dict[str, int] = {}
        for kind in kinds():
            self.ended[kind.name] = Counter()
            self.counts[kind.name] = max(1, round(kind.share * count))
            for _ in range(self.counts[kind.name]):
                self.add(kind)
                self.turn(0)

    def add(self, kind: Kind) -> None:
        peer = Peer(kind, self.ports[kind.http])
        self.open[peer.socket.fileno()] = peer
        # Whoever does not read only hears that the connection is gone.
        self.events.register(peer.socket, select.EPOLLIN if kind.reads else 0)

    def turn(self, seconds: float) -> bool:
        """Handles what comes; false when the input has ended."""
        for number, happened in self.events.poll(seconds):
            if number == sys.stdin.fileno():
                if not sys.stdin.readline():
                    return False
                print(json.dumps({name: dict(ends) for name, ends in self.ended.items()}), flush=True)
            elif happened & select.EPOLLIN:
                self.open[number].read()
            else:
                self.open[number].end = self.open[number].end or "closed"
            peer = self.open.get(number)
            if peer and peer.end:
                self.replace(number, peer)
        return True

    def replace(self, number: int, peer: Peer) -> None:
        self.ended[peer.kind.name][peer.end] += 1
        del self.open[number]
        self.events.unregister(number)
        peer.socket.close()
        if self.again:
            self.add(peer.kind)

    def tick(self) -> None:
        for number, peer in list(self.open.items()):
            peer.tick()
            if peer.end:
                self.replace(number, peer)

    def run(self) -> None:
        print(json.dumps(self.counts), flush=True)
        self.events.register(sys.stdin, select.EPOLLIN)
        next_tick = time.monotonic()
        while self.turn(max(0, next_tick - time.monotonic())):
            if time.monotonic() >= next_tick:
                next_tick += TRICKLE_SECONDS
                self.tick()


if __name__ == "__main__":
    Peers(*map(int, sys.argv[1:4]), again="--again" in sys.argv).run()
