"""Makes the bundle 'magika': its program, and the hooks of examples/classify, from files and to labels."""

import json
from pathlib import Path

from demo_options import making
from hooked_bundle import add_hooks, imported
from onnx_files import MAGIKA, magika

MODEL = "magika"
KEYS = {
    "description": "what kind of file: magika (Apache-2.0)",
    "client_inputs": [{"name": "file", "dtype": "bytes", "shape": ["n"]}],
    "client_outputs": [
        {"name": "label", "dtype": "bytes", "shape": ["n"]},
        {"name": "score", "dtype": "f32", "shape": ["n"]},
    ],
}


def main() -> None:
    options = making(__doc__)
    source = magika(options.folder, options.cache)
    shape = ("--batch-sizes", "1,8")
    bundle = imported(source, options.folder / "models", MODEL, *shape, "--plugin", str(options.plugin))
    source.unlink()
    files = {"Model.java": (options.example / "Model.java").read_bytes(), "kinds.tsv": kinds(options.cache)}
    add_hooks(bundle, files, KEYS)


def kinds(cache: Path) -> bytes:
    """A line for each class of the program: label, least score, and the label below it."""
    config = json.loads(MAGIKA.file(cache, "magika/models/standard_v3_3/config.min.json"))
    known = json.loads(MAGIKA.file(cache, "magika/config/content_types_kb.min.json"))
    lines = []
    for name in config["target_labels_space"]:
        label = config["overwrite_map"].get(name, name)
        threshold = config["thresholds"].get(name, config["medium_confidence_threshold"])
        lines.append(f"{label}\t{threshold}\t{'txt' if known[label]['is_text'] else 'unknown'}\n")
    return "".join(lines).encode()


if __name__ == "__main__":
    main()
