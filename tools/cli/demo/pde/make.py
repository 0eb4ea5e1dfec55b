"""Makes the bundle 'water': one step of shallow_water.py, whose field the server keeps for each sequence."""

import numpy as np
from roundhouse_export.bundle import Bundle, write_bundle
from roundhouse_export.jax_program import FRAMEWORK, Encoding, export_programs
from roundhouse_export.provenance import provenance

from demo_options import making
from shallow_water import CONTRACT, SERVING, depths, step

MODEL = "water"


def main() -> None:
    options = making(__doc__)
    weights = {"depth": depths()}
    bundle = Bundle(
        contract=CONTRACT,
        description="shallow water, a step of time a request",
        programs=export_programs(MODEL, step, CONTRACT, weights, Encoding.ARTIFACT),
        weights=weights,
        provenance=provenance(FRAMEWORK),
        serving=SERVING,
    )
    write_bundle(bundle, options.folder / "models" / MODEL)
    np.save(options.folder / "depth.npy", weights["depth"])


if __name__ == "__main__":
    main()
