"""Ports that nobody takes before the process that they are for.

A port that the kernel names for port 0 is of those that it gives to connections too: one that a gateway makes to
a worker which does not listen yet may be given that worker's own port. These are below the range that Linux has
for them when nobody has changed it.
"""

import itertools
import random
import socket

_FIRST = 20_000  # the product's own are below
_COUNT = 32_768 - _FIRST
_numbers = itertools.count(random.randrange(_COUNT))


def unused_ports(count: int) -> list[int]:
    """Nobody listens at them on loopback; what was given once is given again when all others have been."""
    return list(itertools.islice((port for port in map(_port, _numbers) if _is_unused(port)), count))


def unused_run(count: int) -> int:
    """The first of so many in a row."""
    while True:
        ports = unused_ports(count)
        if ports[-1] - ports[0] == count - 1:
            return ports[0]


def _port(number: int) -> int:
    return _FIRST + number % _COUNT


def _is_unused(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True
