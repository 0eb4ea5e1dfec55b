"""Connections made by hand, from an address that one chooses: HTTP/2 as far as gRPC needs it, and HTTP/1.1."""

import contextlib
import socket
import struct
import threading
import time
import zlib
from collections.abc import Iterable

from slow_peers import (
    ACK,
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    INITIAL_WINDOW_SIZE,
    PREFACE,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    frame,
)

PING, CONTINUATION = 6, 9
MAX_CONCURRENT_STREAMS = 3
WIDE_OPEN = 2**31 - 1
FRAME_BYTES = 16_384
FIRST_WINDOW = 65_535
CONNECT_SECONDS = 10
STALL_SECONDS = 5


class EndedError(Exception):
    """The server has ended the connection, or takes nothing any more."""


def connect(port: int, source: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), CONNECT_SECONDS, (source, 0))


def integer(first: int, bits: int, value: int) -> bytes:
    """HPACK's number behind the pattern of its first byte (RFC 7541, 5.1)."""
    most = (1 << bits) - 1
    if value < most:
        return bytes([first | value])
    out = bytearray([first | most])
    value -= most
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def text(value: str) -> bytes:
    return integer(0, 7, len(value)) + value.encode()


class FieldBlocks:
    """Encodes the same fields again and again, in a byte each from the second time on."""

    def __init__(self) -> None:
        self.table: list[tuple[str, str]] = []

    def block(self, fields: Iterable[tuple[str, str]]) -> bytes:
        out = b""
        for field in fields:
            if field in self.table:
                out += integer(128, 7, 62 + self.table[::-1].index(field))
            else:
                self.table.append(field)
                out += b"\x40" + text(field[0]) + text(field[1])
        return out


def call_fields(path: str, encoding: str = "", extra: Iterable[tuple[str, str]] = ()) -> list[tuple[str, str]]:
    fields = [(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "a")]
    fields += [("content-type", "application/grpc"), ("te", "trailers")]
    return [*fields, *([("grpc-encoding", encoding)] if encoding else []), *extra]


def framed(message: bytes, compressed: bool = False) -> bytes:
    return struct.pack(">BI", compressed, len(message)) + message


def gzipped(parts: Iterable[bytes]) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join([packer.compress(part) for part in parts] + [packer.flush()])


def zeros(count: int) -> Iterable[bytes]:
    chunk = bytes(1 << 20)
    for _ in range(count >> 20):
        yield chunk
    yield bytes(count & ((1 << 20) - 1))


class Http2:
    """A client that sends as far as the server's windows let it; a thread reads frames until ``deaf``."""

    def __init__(self, port: int, source: str, window: int = WIDE_OPEN, deaf: bool = False) -> None:
        self.socket = connect(port, source)
        self.socket.settimeout(STALL_SECONDS)
        self.fields = FieldBlocks()
        self.next_stream = 1
        self.sent = 0
        self.resets = 0
        self.answered = 0
        self.most_streams = WIDE_OPEN
        self.ended = False
        self._first_window = FIRST_WINDOW
        self._window = FIRST_WINDOW
        self._streams: dict[int, int] = {}
        self._changed = threading.Condition()
        self._write = threading.Lock()
        self._deaf = threading.Event()
        self.known = threading.Event()
        self.send(PREFACE + frame(SETTINGS, 0, 0, struct.pack(">HI", INITIAL_WINDOW_SIZE, window)))
        threading.Thread(target=self._read, daemon=True).start()
        self.known.wait(CONNECT_SECONDS)
        if deaf:
            time.sleep(0.1)  # for a window that follows the settings
            self._deaf.set()

    def send(self, data: bytes) -> None:
        try:
            with self._write:
                self.socket.sendall(data)
        except OSError as e:
            self.ended = True
            raise EndedError(str(e)) from e
        self.sent += len(data)

    def open(
        self,
        fields: Iterable[tuple[str, str]],
        body: bytes | None = None,
        last: bool = True,
        once: Iterable[tuple[str, str]] = (),
    ) -> int:
        """Starts a call; with a small ``body``, sends it too without asking for any window.

        Fields that are sent ``once`` are those that nobody is to remember.
        """
        stream, self.next_stream = self.next_stream, self.next_stream + 2
        block = self.fields.block(fields) + b"".join(b"\0" + text(name) + text(value) for name, value in once)
        pieces = [block[at : at + FRAME_BYTES] for at in range(0, len(block), FRAME_BYTES)]
        out = b""
        for number, piece in enumerate(pieces):
            flags = END_HEADERS if number == len(pieces) - 1 else 0
            out += frame(CONTINUATION if number else HEADERS, flags, stream, piece)
        if body is not None:
            out += frame(DATA, END_STREAM if last else 0, stream, body)
            with self._changed:
                self._window -= len(body)
        with self._changed:
            self._streams[stream] = self._first_window - len(body or b"")
        self.send(out)
        return stream

    def write(self, stream: int, data: bytes, last: bool = False, patience: float = STALL_SECONDS) -> None:
        """Sends all of it, waiting for windows; EndedError when none opens for so many seconds."""
        view = memoryview(data)
        while view:
            size = self._take_window(stream, min(len(view), FRAME_BYTES), patience)
            rest = view[size:]
            self.send(frame(DATA, END_STREAM if last and not rest else 0, stream, bytes(view[:size])))
            view = rest

    def close(self) -> None:
        # a thread that reads keeps the socket open otherwise
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()

    def _take_window(self, stream: int, wanted: int, patience: float) -> int:
        def room() -> int:
            return min(self._window, self._streams.get(stream, 0), wanted)

        with self._changed:
            opened = self._changed.wait_for(lambda: self.ended or stream not in self._streams or room() > 0, patience)
            if not opened or self.ended or stream not in self._streams:
                raise EndedError(f"the window of stream {stream} does not open")
            size = room()
            self._window -= size
            self._streams[stream] -= size
            return size

    def _read(self) -> None:
        self.socket.settimeout(None)
        reader = self.socket.makefile("rb", buffering=1 << 16)
        try:
            while not self._deaf.is_set():
                head = reader.read(9)
                if len(head) < 9:
                    break
                size = int.from_bytes(head[:3], "big")
                self._take(head[3], head[4], int.from_bytes(head[5:], "big"), reader.read(size))
        except (OSError, EndedError, ValueError):
            pass
        if not self._deaf.is_set():
            with self._changed:
                self.ended = True
                self._changed.notify_all()
            self.known.set()

    def _take(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        with self._changed:
            if kind == SETTINGS and not flags & ACK:
                self._settle(payload)
            elif kind == WINDOW_UPDATE:
                more = int.from_bytes(payload, "big")
                if stream == 0:
                    self._window += more
                elif stream in self._streams:
                    self._streams[stream] += more
            elif kind == RST_STREAM or (kind in (HEADERS, DATA) and flags & END_STREAM):
                self.resets += kind == RST_STREAM
                self.answered += kind != RST_STREAM
                self._streams.pop(stream, None)
            elif kind == GOAWAY:
                self.ended = True
            self._changed.notify_all()
        if kind == SETTINGS and not flags & ACK:
            self.send(frame(SETTINGS, ACK, 0))
            self.known.set()
        elif kind == PING and not flags & ACK:
            self.send(frame(PING, ACK, 0, payload))
        elif kind == DATA and payload:
            self.send(frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", len(payload))))

    def _settle(self, payload: bytes) -> None:
        values = dict(struct.iter_unpack(">HI", payload))
        self.most_streams = values.get(MAX_CONCURRENT_STREAMS, self.most_streams)
        first = values.get(INITIAL_WINDOW_SIZE, self._first_window)
        self._streams = {stream: left + first - self._first_window for stream, left in self._streams.items()}
        self._first_window = first

    def await_answers(self, most_open: int, seconds: float) -> bool:
        """Waits until no more streams than that are open."""
        with self._changed:
            return self._changed.wait_for(lambda: self.ended or len(self._streams) <= most_open, seconds)


def http_head(method: str, path: str, length: int, fields: Iterable[tuple[str, str]] = ()) -> bytes:
    given = dict(fields)
    lines = [f"{method} {path} HTTP/1.1", f"Host: {given.pop('Host', '127.0.0.1')}", f"Content-Length: {length}"]
    lines += [f"{name}: {value}" for name, value in given.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def http(port: int, source: str, data: bytes, seconds: float = STALL_SECONDS) -> str:
    """Sends bytes on a connection of their own, and returns the status that comes back; empty for none."""
    try:
        with connect(port, source) as connected:
            connected.settimeout(seconds)
            connected.sendall(data)
            line = connected.makefile("rb").readline().split()
    except OSError:
        return ""
    return line[1].decode() if len(line) > 1 else ""
