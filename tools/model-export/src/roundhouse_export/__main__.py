"""``python -m roundhouse_export`` is the command ``roundhouse-export``."""

import sys

from roundhouse_export.command import main

if __name__ == "__main__":
    sys.exit(main())
