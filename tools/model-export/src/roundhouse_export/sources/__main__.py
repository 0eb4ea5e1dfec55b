"""``python -m roundhouse_export.sources SOURCE``: what a source needs, by the standard library.

Prints the extra of ``roundhouse-export`` that reads it. With ``--repository``, SOURCE is a folder
of models, and nothing is printed when none of them needs to be converted.
"""

import sys
from pathlib import Path

from roundhouse_export import sources
from roundhouse_export.refusal import RefusedError
from roundhouse_export.sources import recognition

_REFUSED = 2


def main(arguments: list[str]) -> int:
    match arguments:
        case ["--repository", folder]:
            if recognition.foreign_models(Path(folder)):
                print("triton")
        case [source] if not source.startswith("-"):
            try:
                print(sources.recognise(source).extra)
            except RefusedError as refusal:
                print(f"roundhouse-export: {refusal}", file=sys.stderr)
                return _REFUSED
        case _:
            print("usage: python -m roundhouse_export.sources [--repository] SOURCE")
            return _REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
