"""A replay buffer of echo whose batches are thrown away, and a client of it: the peer of ``./roundhouse bench streams``.

usage: echo_buffer.py serve BYTES BATCH            prints "port N" and serves until its input ends
       echo_buffer.py send PORT BYTES WINDOW       for each line "SECONDS" on its input prints the samples per second
"""

import os
import sys
import threading
import time

import numpy as np
from echo import Server, TcpClient, TcpTransport


def serve(size: int, batch: int) -> None:
    server = Server(np.zeros(size, np.uint8), batch, TcpTransport(0))
    server.start()

    def drop() -> None:
        while True:
            server.sample()

    threading.Thread(target=drop, daemon=True).start()
    print("port", server.port, flush=True)
    sys.stdin.read()
    os._exit(0)  # its threads do not end


def send(port: int, size: int, window: int) -> None:
    sample = np.zeros(size, np.uint8)
    client = TcpClient("127.0.0.1", port, sample, max_inflight_msgs=window)
    print("connected", flush=True)
    for line in sys.stdin:
        start = time.perf_counter()
        end = start + float(line)
        sent = 0
        while time.perf_counter() < end:
            for _ in range(16):
                client.send(sample)
            sent += 16
        client.wait()
        print("rate", sent / (time.perf_counter() - start), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"] and len(sys.argv) == 4:
        serve(*map(int, sys.argv[2:]))
    elif sys.argv[1:2] == ["send"] and len(sys.argv) == 5:
        send(*map(int, sys.argv[2:]))
    else:
        sys.exit(__doc__)
