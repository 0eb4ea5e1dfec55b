"""Sends tensors to a model as a stream (TSTREAM/1): the shapes are agreed on once, then only bytes go over the wire.

    with Stream("localhost:8003", "scalar", window=64) as stream:
        print(stream.infer(np.ones(3, np.float32)))
        for result in stream.map(batches):
            print(result.sequence, result["score"])

One file, for Python 3.10 and later, with numpy. A Stream belongs to one thread. docs/tstream.md has the protocol.
"""

import collections
import dataclasses
import hashlib
import socket
import ssl
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

VERSION = 1
DEADLINE, CHECKSUM, IN_ORDER, ACCEPT_NOTICES = 1, 2, 8, 32
RESULT, ACCEPTED, GENERATION, DRAINING, WINDOW, CLOSED = range(6)
NO_DEADLINE = 0xFFFFFFFF
ALIGNMENT = 64
MOST_REPLY_BYTES = 1 << 17
MOST_TEXT_BYTES = 1 << 16
HELLO_STATUS = "OK NO_SUCH_MODEL NOT_READY OTHER_SPEC NOT_FIXED UNAUTHORISED OVERLOADED BAD_HELLO".split()
STATUS = (
    "OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED "
    "RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS "
    "UNAUTHENTICATED"
).split()
CODES = dict(enumerate("? <u1 <u2 <u4 <u8 <i1 <i2 <i4 <i8 <f2 <f4 <f8".split(), 1))
CODES[14] = "<u2"  # BF16, which numpy does not have: its bits
DTYPES = {code: np.dtype(name) for code, name in CODES.items()}


class StreamError(Exception):
    """The server refused the stream, ended it, or said what makes no sense.

    ``status`` is its name for it; ``retry_millis`` tells when to try again where there was no room.
    """

    def __init__(self, status: str, text: str, retry_millis: int = 0) -> None:
        super().__init__(f"{status}: {text}")
        self.status = status
        self.retry_millis = retry_millis


class MessageError(Exception):
    """A message has no result; the stream goes on."""

    def __init__(self, sequence: int, status: str, text: str) -> None:
        super().__init__(f"message {sequence}: {status}: {text}")
        self.sequence = sequence
        self.status = status


@dataclasses.dataclass(frozen=True)
class Tensor:
    """A tensor of each message or result; ``offset`` is where its bytes begin in one."""

    name: str
    code: int
    shape: tuple[int, ...]
    offset: int

    @property
    def dtype(self) -> np.dtype:
        return DTYPES[self.code]

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize


@dataclasses.dataclass
class Result:
    """The outputs of a message by their names; ``error`` in their place when it has none."""

    sequence: int
    outputs: Mapping[str, np.ndarray]
    error: MessageError | None = None

    def __getitem__(self, output: str) -> np.ndarray:
        if self.error:
            raise self.error
        return self.outputs[output]


Inputs = np.ndarray | Mapping[str, np.ndarray]


class Stream:
    """A connection to one model.

    ``address`` is "host:port", or a path to a socket. ``window`` is how many messages may be under way; ``rows`` how
    many each has. ``expect`` gives the datatypes and shapes that the caller counts on, by tensor name, and fails where
    the model's are others. ``tls``, such as ``ssl.create_default_context()``, is for a port with TLS; it is set to name
    ``tstream/1`` by ALPN, so use it for streams alone. ``timeout`` is how many seconds the server may say nothing.
    """

    def __init__(
        self,
        address: str,
        model: str,
        *,
        version: str = "",
        variant: str = "",
        rows: int = 1,
        window: int = 64,
        in_order: bool = False,
        checksums: bool = False,
        deadlines: bool = False,
        token: str = "",
        timeout: float = 60,
        tls: ssl.SSLContext | None = None,
        expect: Mapping[str, tuple[Any, tuple[int, ...]]] | None = None,
    ) -> None:
        self._sent = 0
        self._under_way = 0
        self._draining: str | None = None
        self._ready: collections.deque[Result] = collections.deque()
        self._socket = _connect(address, timeout, tls)
        try:
            self._reader = self._socket.makefile("rb", 1 << 20)
            wanted = IN_ORDER * in_order | CHECKSUM * checksums | DEADLINE * deadlines
            self._socket.sendall(_hello(model, version, variant, token, wanted, window, rows))
            self._read_reply(wanted)
            for name, (dtype, shape) in (expect or {}).items():
                self._require(name, np.dtype(dtype), tuple(shape))
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the stream. What is under way is given up."""
        self._socket.close()

    # --- sending

    def send(self, inputs: Inputs, *, deadline: float | None = None) -> int:
        """Sends one message and returns its number; reads results for later while the window is full.

        ``inputs`` are by name; an array alone is the only input. ``deadline`` is in seconds from now, on a stream with
        ``deadlines``.
        """
        message = self._message(inputs, deadline)
        while self._under_way >= self.window and not self._draining:
            self._ready.append(self._read_result())
        if self._draining:
            raise StreamError("UNAVAILABLE", self._draining)
        self._socket.sendall(message)
        self._sent += 1
        self._under_way += 1
        return self._sent - 1

    def result(self) -> Result:
        """The next result that has come, of whichever message."""
        if self._ready:
            return self._ready.popleft()
        if not self._under_way:
            raise ValueError("no message is under way")
        return self._read_result()

    def infer(self, inputs: Inputs, *, deadline: float | None = None) -> Any:
        """Sends one message and waits for its result: an array where the model has one output, else by name."""
        if self._under_way or self._ready:
            raise ValueError("other messages are under way; use send and result, or map")
        self.send(inputs, deadline=deadline)
        result = self.result()
        if result.error:
            raise result.error
        return result[self.outputs[0].name] if len(self.outputs) == 1 else result.outputs

    def map(self, messages: Iterable[Inputs]) -> Iterator[Result]:
        """The results of many messages as they come, with as many under way as the window has."""
        for inputs in messages:
            while self._under_way and (self._under_way >= self.window or self._draining):
                yield self.result()
            self.send(inputs)
            while self._ready:
                yield self._ready.popleft()
        while self._under_way or self._ready:
            yield self.result()

    def _message(self, inputs: Inputs, deadline: float | None) -> bytes:
        given = inputs if isinstance(inputs, Mapping) else {self.inputs[0].name: inputs}
        if len(given) != len(self.inputs):
            raise ValueError(f"the model has inputs {[each.name for each in self.inputs]}, and {list(given)} are given")
        if deadline is not None and not self._head:
            raise ValueError("the stream was opened without deadlines=True")
        message = bytearray(self._head + self.request_bytes)
        if self._head:
            micros = NO_DEADLINE if deadline is None else min(max(int(deadline * 1e6), 0), NO_DEADLINE - 1)
            struct.pack_into("<I", message, 0, micros)
        for tensor in self.inputs:
            if tensor.name not in given:
                raise ValueError(f"input '{tensor.name}' is missing")
            value = np.asarray(given[tensor.name])
            if value.dtype != tensor.dtype or value.shape != tensor.shape:
                raise ValueError(
                    f"input '{tensor.name}' is {tensor.dtype} {tensor.shape}, and {value.dtype} {value.shape} is given"
                )
            start = self._head + tensor.offset
            message[start : start + tensor.nbytes] = np.ascontiguousarray(value).tobytes()
        if self._checksums:
            message += struct.pack("<I", crc32c(message))
        return bytes(message)

    # --- reading

    def _read_result(self) -> Result:
        while True:
            sequence, status, kind, _ = struct.unpack("<IBBH", header := self._read(8))
            if kind == RESULT:
                self._under_way -= 1
                return self._result(header, sequence, status)
            if kind == GENERATION:
                self.generation, _ = struct.unpack("<QQ", self._read(16))
            elif kind == WINDOW:
                (self.window,) = struct.unpack("<I", self._read(4))
            elif kind == DRAINING:
                self._end(sequence, "the server takes no more messages")
            elif kind == CLOSED:
                self._end(sequence, f"{_name(STATUS, status)}: {self._text()}")
            elif kind != ACCEPTED:
                raise StreamError("MALFORMED", f"a record has kind {kind}, and {CLOSED} is the last")

    def _end(self, last: int, why: str) -> None:
        """Messages after ``last`` were not taken, and have no results."""
        self._draining = why
        not_taken = (self._sent - 1 - last) & 0xFFFFFFFF
        if not_taken > self._under_way:
            raise StreamError("MALFORMED", f"{why}; message {last} is said to be the last, and it is none of ours")
        self._under_way -= not_taken
        if not self._under_way:
            raise StreamError("UNAVAILABLE", f"{why}; {not_taken} messages were not taken")

    def _result(self, header: bytes, sequence: int, status: int) -> Result:
        if status:
            return Result(sequence, {}, MessageError(sequence, _name(STATUS, status), self._text()))
        payload = self._read(self.response_bytes)
        if self._checksums and struct.unpack("<I", self._read(4))[0] != crc32c(header + payload):
            raise StreamError("MALFORMED", f"the result of message {sequence} was damaged on its way")
        outputs = {
            each.name: np.frombuffer(payload, each.dtype, each.nbytes // each.dtype.itemsize, each.offset).reshape(
                each.shape
            )
            for each in self.outputs
        }
        return Result(sequence, outputs)

    def _text(self) -> str:
        (length,) = struct.unpack("<I", self._read(4))
        if length > MOST_TEXT_BYTES:
            raise StreamError("MALFORMED", f"a text of {length} bytes")
        return self._read(length).decode("utf-8", "replace")

    def _read(self, count: int) -> bytes:
        data = self._reader.read(count)
        if data is None or len(data) < count:
            raise StreamError("UNAVAILABLE", f"the connection has ended with {self._under_way} messages under way")
        return data

    def _read_reply(self, wanted: int) -> None:
        head = self._read(48)
        if head[:4] != b"TSRM":
            raise StreamError("MALFORMED", f"the server does not speak TSTREAM: {head[:4]!r}")
        version, status, options, length, self.window = struct.unpack_from("<BBHII", head, 4)
        self.request_bytes, self.response_bytes, self.generation, self.digest = struct.unpack_from("<IIQQ", head, 16)
        inputs, outputs, text_bytes = struct.unpack_from("<HHI", head, 40)
        if not 48 + text_bytes <= length <= MOST_REPLY_BYTES:
            raise StreamError(
                "MALFORMED",
                f"the server's reply has {length} bytes, {text_bytes} of them text",
            )
        rest = self._read(length - 48)
        block, text = (
            rest[: len(rest) - text_bytes],
            rest[len(rest) - text_bytes :].decode("utf-8", "replace"),
        )
        if status:
            name = _name(HELLO_STATUS, status)
            raise StreamError(name, text, self.window if name == "OVERLOADED" else 0)
        if version != VERSION or options != wanted:
            raise StreamError(
                "MALFORMED",
                f"the server speaks version {version} and grants options {options:#x}",
            )
        digest = int.from_bytes(hashlib.sha256(block).digest()[:8], "little") or 1
        if digest != self.digest:
            raise StreamError("MALFORMED", "the digest of the spec is not that of the spec")
        self.inputs, at = _tensors(block, 0, inputs)
        self.outputs, at = _tensors(block, at, outputs)
        self._head = 4 if options & DEADLINE else 0
        self._checksums = bool(options & CHECKSUM)

    def _require(self, name: str, dtype: np.dtype, shape: tuple[int, ...]) -> None:
        for each in (*self.inputs, *self.outputs):
            if each.name == name:
                if (each.dtype, each.shape) != (dtype, shape):
                    raise StreamError(
                        "OTHER_SPEC",
                        f"'{name}' is {each.dtype} {each.shape}, not {dtype} {shape}",
                    )
                return
        raise StreamError("OTHER_SPEC", f"the model has no tensor '{name}'")


def _name(names: list[str], number: int) -> str:
    return names[number] if number < len(names) else str(number)


def _connect(address: str, timeout: float, tls: ssl.SSLContext | None) -> socket.socket:
    if "/" in address:
        if tls is not None:
            raise ValueError(f"tls is given, and '{address}' is a socket in the file system, which has none")
        local = socket.socket(socket.AF_UNIX)
        local.settimeout(timeout)
        local.connect(address)
        return local
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise ValueError(f"'{address}' is neither host:port nor a path with a slash")
    host = host.strip("[]")
    connected = socket.create_connection((host, int(port)), timeout)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if tls is None:
        return connected
    tls.set_alpn_protocols(["tstream/1"])
    return tls.wrap_socket(connected, server_hostname=host)  # which closes it when it fails


def _hello(model: str, version: str, variant: str, token: str, options: int, window: int, rows: int) -> bytes:
    texts = [text.encode() for text in (model, version, variant, token, "", "")]
    length = 48 + sum(map(len, texts))
    padding = -length % 8
    head = struct.pack(
        "<4sBBHIIIHHQ",
        b"TSRM",
        VERSION,
        VERSION,
        options,
        length + padding,
        window,
        rows,
        0,
        0,
        0,
    ) + struct.pack("<6HI", *map(len, texts), 0)
    return head + b"".join(texts) + bytes(padding)


def _tensors(block: bytes, at: int, count: int) -> tuple[list[Tensor], int]:
    tensors, offset = [], 0
    for _ in range(count):
        code, rank, name_bytes, said = struct.unpack_from("<BBHI", block, at)
        shape = struct.unpack_from(f"<{rank}I", block, at + 8)
        start = at + 8 + 4 * rank
        name = block[start : start + name_bytes].decode()
        if code not in DTYPES or said != offset:
            raise StreamError(
                "MALFORMED",
                f"tensor '{name}' has datatype {code} and begins at byte {said}",
            )
        tensors.append(Tensor(name, code, shape, said))
        offset = said + tensors[-1].nbytes
        offset += -offset % ALIGNMENT
        at = start + name_bytes
        at += -at % 4
    return tensors, at


_CRC = []
for _byte in range(256):
    for _ in range(8):
        _byte = _byte >> 1 ^ (0x82F63B78 if _byte & 1 else 0)
    _CRC.append(_byte)


def crc32c(data: bytes) -> int:
    """In Python itself, some 0.2 ms for each KiB: for links that damage what they carry."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _CRC[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF
