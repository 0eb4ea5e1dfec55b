"""``python -m roundhouse_export.sources SOURCE [--trust]``: prints the extra that reads a source.

It needs the standard library alone, as it is asked before there is an environment.
"""

import sys

from roundhouse_export import sources
from roundhouse_export.refusal import RefusedError

_REFUSED = 2


def main(arguments: list[str]) -> int:
    trust = arguments[1:] == ["--trust"]
    if len(arguments) != 1 + trust or arguments[0].startswith("-"):
        print("usage: python -m roundhouse_export.sources SOURCE [--trust]", file=sys.stderr)
        return _REFUSED
    try:
        print(sources.extra_of(arguments[0], trust))
    except RefusedError as refusal:
        print(f"roundhouse-export: {refusal}", file=sys.stderr)
        return _REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
