"""What tools/cli/command_demo.sh calls the scripts of a demo with."""

import argparse
from pathlib import Path


def making(description: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--example", type=Path, required=True, help="a folder with Model.java")
    parser.add_argument("--cache", type=Path, required=True, help="where wheels are kept")
    parser.add_argument("--folder", type=Path, required=True, help="gets models/, and what is compared with")
    parser.add_argument("--plugin", type=Path, required=True)
    return parser.parse_args()


def showing(name: str, description: str | None) -> argparse.ArgumentParser:
    """To which a demo adds what people say."""
    parser = argparse.ArgumentParser(prog=f"./roundhouse demo {name}", description=description)
    parser.add_argument("--example", type=Path, required=True, help="a folder with Model.java")
    parser.add_argument("--cache", type=Path, required=True, help="where wheels are kept")
    parser.add_argument("--folder", type=Path, required=True, help="what was made")
    parser.add_argument("--grpc-port", type=int, required=True, help="of a server on this machine")
    parser.add_argument("--http-port", type=int, required=True, help="of the same")
    parser.add_argument("--metrics-port", type=int, required=True, help="of the same")
    parser.add_argument("--export-python", type=Path, required=True, help="runs what made the bundle")
    return parser
