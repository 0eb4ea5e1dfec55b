"""Runs a source's model as it would be served: from its program files."""

from collections.abc import Mapping

import numpy as np

from roundhouse_export.jax_program import Encoding, export_programs
from roundhouse_export.model import Model
from roundhouse_export.program_runner import run_program


class ServedModel:
    """Every program of a model, exported once."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._programs = export_programs(
            model.name, model.forward, model.contract, model.weights, Encoding.ARTIFACT
        )

    def __call__(self, **inputs: np.ndarray) -> dict[str, np.ndarray]:
        """Returns outputs by name for inputs whose rows are a compiled number."""
        contract = self._model.contract
        key = next(
            key
            for key in contract.programs()
            if all(
                tensor.resolve(key.batch, contract.variant(key)) == inputs[tensor.name].shape
                for tensor in contract.inputs
            )
        )
        arguments = [inputs[tensor.name] for tensor in contract.inputs]
        results = run_program(self._programs[key], [*arguments, *self._model.weights.values()])
        names = [tensor.name for tensor in contract.outputs]
        return dict(zip(names, results, strict=True))


def require_near(got: Mapping[str, np.ndarray], wanted: Mapping[str, np.ndarray]) -> None:
    assert got.keys() == wanted.keys()
    for name, array in wanted.items():
        assert got[name].dtype == array.dtype, name
        np.testing.assert_allclose(got[name], array, rtol=2e-5, atol=2e-5, err_msg=name)
