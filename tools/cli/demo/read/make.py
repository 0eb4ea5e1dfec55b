"""Makes the bundles 'finder' and 'reader-…' of PP-OCRv4, and the meta 'read' of examples/read, which calls them."""

from pathlib import Path

import onnx

from demo_options import making
from hooked_bundle import add_meta, imported
from onnx_files import text_detection, text_recognition

SIDE, HEIGHT, WIDTHS, ROWS = 640, 48, (320, 640), 4  # Model.java names them too
KEYS = {
    "description": "lines of text in a picture: PP-OCRv4 (Apache-2.0)",
    "client_inputs": [{"name": "image", "dtype": "u8", "shape": ["h", "w", 3]}],
    "client_outputs": [
        {"name": "text", "dtype": "bytes", "shape": ["l"]},
        {"name": "boxes", "dtype": "f32", "shape": ["l", 4]},
        {"name": "scores", "dtype": "f32", "shape": ["l"]},
    ],
    "meta": {"calls": ["finder", *(f"reader-{width}" for width in WIDTHS)]},
}


def main() -> None:
    options = making(__doc__)
    models = options.folder / "models"
    plugin = ("--plugin", str(options.plugin))
    finder = named(text_detection(options.folder, options.cache), options.folder / "finder.onnx", "picture", "text")
    imported(finder, models, "finder", "--input", f"picture=f32[n,3,{SIDE},{SIDE}]", "--batch-sizes", "1", *plugin)
    source = text_recognition(options.folder, options.cache)
    characters = next(each.value for each in onnx.load(source).metadata_props if each.key == "character")
    (options.folder / "characters.txt").write_bytes(characters.encode())
    reader = named(source, options.folder / "reader.onnx", "crops", "classes")
    for width in WIDTHS:
        shape = ("--input", f"crops=f32[n,3,{HEIGHT},{width}]", "--batch-sizes", str(ROWS))
        imported(reader, models, f"reader-{width}", *shape, *plugin)
    files = {"Model.java": (options.example / "Model.java").read_bytes(), "characters.txt": characters.encode()}
    add_meta(models / "read", files, KEYS)


def named(source: Path, target: Path, given: str, made: str) -> Path:
    """The same program, its input and output by names that say what they are."""
    model = onnx.load(source)
    graph = model.graph
    names = {graph.input[0].name: given, graph.output[0].name: made}
    for node in graph.node:
        for each in (node.input, node.output):
            each[:] = [names.get(name, name) for name in each]
    for value in (graph.input[0], graph.output[0]):
        value.name = names[value.name]
    onnx.save(model, target)
    source.unlink()
    return target


if __name__ == "__main__":
    main()
