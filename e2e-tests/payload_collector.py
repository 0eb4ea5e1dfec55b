"""A collector of CloudEvents that keeps the requests and answers it is sent over HTTP."""

import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

from worker_process import wait_until


@dataclass(frozen=True)
class Event:
    headers: dict[str, str]
    body: str

    @property
    def is_request(self) -> bool:
        return self.headers["ce-type"] == "org.kubeflow.serving.inference.request"


class PayloadCollector:
    def __init__(self) -> None:
        self.events: list[Event] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                collector.events.append(Event({name.lower(): value for name, value in self.headers.items()}, body))
                self.send_response(202)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/"

    def await_events(self, count: int) -> list[Event]:
        wait_until(lambda: len(self.events) >= count, 30, f"{count} events have come")
        return list(self.events)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
