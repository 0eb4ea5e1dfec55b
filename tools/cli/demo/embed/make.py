"""Makes the bundle 'minilm': all-MiniLM-L6-v2, and the hooks of examples/embed, which turn texts into tokens."""

from demo_options import making
from hooked_bundle import add_hooks, imported
from onnx_files import MINILM, MINILM_FOLDER, minilm_embedding

MODEL = "minilm"
LENGTHS = "16,64,256"  # Model.java cuts texts to the largest
KEYS = {
    "description": "embeddings of texts: all-MiniLM-L6-v2 (Apache-2.0)",
    "task": "embed",
    "client_inputs": [{"name": "text", "dtype": "bytes", "shape": ["n"]}],
    "client_outputs": [
        {"name": "embedding", "dtype": "f32", "shape": ["n", 384]},
        {"name": "tokens", "dtype": "i32", "shape": ["n"]},
    ],
}


def main() -> None:
    options = making(__doc__)
    source = minilm_embedding(options.folder, options.cache)
    shape = ("--axis", f"s={LENGTHS}", "--pad", "input_ids=0", "--pad", "attention_mask=0", "--batch-sizes", "1,8")
    bundle = imported(source, options.folder / "models", MODEL, *shape, "--plugin", str(options.plugin))
    source.unlink()
    files = {
        "Model.java": (options.example / "Model.java").read_bytes(),
        "vocab.txt": MINILM.file(options.cache, MINILM_FOLDER + "vocab.txt"),
    }
    add_hooks(bundle, files, KEYS)


if __name__ == "__main__":
    main()
