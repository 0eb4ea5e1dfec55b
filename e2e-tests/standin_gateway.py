"""Stands in for a gateway: ready on its metrics port, prints which workers it was told of, ends with its supervisor."""

import http.server
import os
import sys
import threading


class Ready(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def end_with_the_supervisor() -> None:
    sys.stdin.buffer.read()
    os._exit(143)


def main() -> None:
    options = dict(argument[2:].split("=", 1) for argument in sys.argv[1:])
    threading.Thread(target=end_with_the_supervisor, daemon=True).start()
    print("workers", *sorted(key for key in options if key.endswith(".address")), flush=True)
    address = ("127.0.0.1", int(options["management.server.port"]))
    http.server.ThreadingHTTPServer(address, Ready).serve_forever()


if __name__ == "__main__":
    main()
