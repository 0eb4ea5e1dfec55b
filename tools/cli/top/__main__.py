"""The live page's facts in a terminal. command_top.sh checks the options, and explains them."""

import argparse
import sys
from http.client import HTTPException

import figures
import table
from feed import Feed, RefusedError, events
from screen import Screen


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("address")
    parser.add_argument("--worker")
    parser.add_argument("--sort", default="queue", choices=[column.name for column in table.COLUMNS])
    parser.add_argument("--filter", default="")
    parser.add_argument("--once", action="store_true")
    return parser.parse_args()


def text(feed: Feed, options: argparse.Namespace) -> str:
    models = table.rows(feed, options.sort, options.filter)
    head = [table.facts(feed, options.address), table.device(feed)]
    if feed.last["unknownBecause"]:
        head.append(feed.last["unknownBecause"])
    return "\n".join(
        [*map(figures.printable, head), "", *table.lines(feed, models, table.full_width(models, feed), None)]
    )


def printed(options: argparse.Namespace) -> None:
    """What a second brought is known from the second moment on that has all models."""
    feed, whole = Feed([], []), 0
    for event, data in events(options.address, options.worker):
        if event == "begin":
            feed, whole = Feed(data["fields"], data["uses"]), 0
        elif event == "moment":
            feed.take(data)
            whole += data["left"] == 0
            if whole > 1 and data["left"] == 0:
                print(text(feed, options), end="\n" if options.once else "\n\n", flush=True)
                if options.once:
                    return
    raise RefusedError(f"{options.address} has ended the events: it stops")


def main() -> int:
    options = arguments()
    try:
        if options.once or not sys.stdout.isatty() or not sys.stdin.isatty():
            printed(options)
        else:
            Screen(options.address, options.worker, options.sort, options.filter).show()
    except RefusedError as e:
        print(f"roundhouse: {e}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        sys.stderr.close()  # whoever read has enough
        return 0
    except (OSError, HTTPException) as e:
        print(
            f"roundhouse: no events from {options.address}: {e or type(e).__name__}; it takes the management port"
            " of a worker, a node or a gateway, and ./roundhouse up starts one",
            file=sys.stderr,
        )
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
