"""Makes the bundle 'decoder', which it trains, and the meta 'stream' of examples/stream, which calls it."""

import numpy as np
from roundhouse_export.bundle import Bundle, write_bundle
from roundhouse_export.contract import Contract, TensorSpec
from roundhouse_export.jax_program import FRAMEWORK, Encoding, export_programs
from roundhouse_export.provenance import provenance

from corpus import END, characters, texts
from decoder import WINDOW, next_scores
from demo_options import making
from hooked_bundle import add_meta
from train import trained

DECODER, META = "decoder", "stream"
BATCH_SIZES = (1, 4)
KEYS = {
    "description": "a text continued, character by character",
    "decoupled": True,
    "client_inputs": [
        {"name": "text_input", "dtype": "bytes", "shape": [1]},
        {"name": "max_tokens", "dtype": "i32", "shape": [1]},
    ],
    "client_outputs": [{"name": "text_output", "dtype": "bytes", "shape": [1]}],
    "meta": {"calls": [DECODER]},
}


def main() -> None:
    options = making(__doc__)
    learned = texts()
    known = characters(learned)
    token = {character: number for number, character in enumerate(known)}
    stream = [token[END], *(token[each] for text in learned for each in (*text, END))]
    weights = trained(np.array(stream, np.int32), len(known))
    contract = Contract(
        inputs=(TensorSpec("tokens", "i32", ("n", WINDOW)), TensorSpec("length", "i32", ("n",))),
        outputs=(TensorSpec("scores", "f32", ("n", len(known))),),
        batch_sizes=BATCH_SIZES,
    )
    bundle = Bundle(
        contract=contract,
        description="scores of the character behind a text",
        programs=export_programs(DECODER, next_scores, contract, weights, Encoding.ARTIFACT),
        weights=weights,
        provenance=provenance(FRAMEWORK, data=f"{len(learned)} texts that come with Python"),
    )
    models = options.folder / "models"
    write_bundle(bundle, models / DECODER)
    np.savez(options.folder / "weights.npz", **weights)
    listed = "".join(known).encode()
    (options.folder / "characters.txt").write_bytes(listed)
    add_meta(
        models / META, {"Model.java": (options.example / "Model.java").read_bytes(), "characters.txt": listed}, KEYS
    )


if __name__ == "__main__":
    main()
