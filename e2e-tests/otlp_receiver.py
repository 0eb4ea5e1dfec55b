"""A collector of OpenTelemetry that keeps the spans it is sent over HTTP."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

from worker_process import wait_until

Field = int | bytes


@dataclass(frozen=True)
class Span:
    service: str
    name: str
    trace: str
    id: str
    parent: str
    start_ns: int
    end_ns: int
    attributes: dict[str, str]


class OtlpReceiver:
    def __init__(self) -> None:
        self.spans: list[Span] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                receiver.spans += list(_spans(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.send_header("Content-Type", "application/x-protobuf")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def await_spans(self, count: int, matching: Callable[[Span], bool]) -> list[Span]:
        wait_until(lambda: sum(map(matching, self.spans)) >= count, 30, f"{count} spans have come")
        return [span for span in self.spans if matching(span)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _spans(message: bytes) -> Iterator[Span]:
    """By the field numbers of opentelemetry/proto/trace/v1/trace.proto."""
    for of_resource in _all(message, 1):
        service = _attributes(_all(of_resource, 1)[0], 1)["service.name"]
        for of_scope in _all(of_resource, 2):
            for span in _all(of_scope, 2):
                yield Span(
                    service,
                    b"".join(_all(span, 5)).decode(),
                    b"".join(_all(span, 1)).hex(),
                    b"".join(_all(span, 2)).hex(),
                    b"".join(_all(span, 4)).hex(),
                    int.from_bytes(_all(span, 7)[0], "little"),
                    int.from_bytes(_all(span, 8)[0], "little"),
                    _attributes(span, 9),
                )


def _attributes(message: bytes, field: int) -> dict[str, str]:
    """Those that are texts."""
    pairs = [(_all(each, 1)[0].decode(), _all(_all(each, 2)[0], 1)) for each in _all(message, field)]
    return {key: text[0].decode() for key, text in pairs if text}


def _all(message: bytes, field: int) -> list[bytes]:
    return [value for number, value in _fields(message) if number == field and isinstance(value, bytes)]


def _fields(message: bytes) -> Iterator[tuple[int, Field]]:
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        tag = varint()
        match tag & 7:
            case 0:
                yield tag >> 3, varint()
                continue
            case 1:
                length = 8
            case 2:
                length = varint()
            case 5:
                length = 4
            case kind:
                raise ValueError(f"no field has kind {kind}")
        yield tag >> 3, message[at : at + length]
        at += length
