"""Programs from a JAX function: one static module per shape variant and batch size."""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum

import jax
import numpy as np
from jax.interpreters.mlir import make_ir_context
from jaxlib.mlir.dialects import stablehlo

from roundhouse_export import dtypes, lowering
from roundhouse_export.contract import Contract, ProgramKey, TensorSpec
from roundhouse_export.numerics import Numerics, apply_numerics

Arrays = Mapping[str, jax.Array]
Forward = Callable[[Arrays, Arrays], Arrays]
"""Takes inputs and weights by name, returns outputs by name."""

FRAMEWORK = f"jax {jax.__version__}"
ARTIFACT_VERSION = "1.13.0"
PLATFORMS = ("cpu", "cuda")


class Encoding(Enum):
    """How a program file is written."""

    TEXT = "StableHLO text: readable, but tied to releases close to the one that wrote it"
    ARTIFACT = f"portable artifact of StableHLO {ARTIFACT_VERSION}: any later release reads it"


def export_programs(
    name: str,
    forward: Forward,
    contract: Contract,
    weights: Mapping[str, np.ndarray],
    encoding: Encoding,
    platforms: Sequence[str] = PLATFORMS,
    numerics: Numerics = Numerics.AS_WRITTEN,
) -> dict[ProgramKey, bytes]:
    """Compiles ``forward`` to every program of ``contract``.

    ``@main`` takes the inputs in the contract's order, then the weights in the mapping's order,
    used or not. One program serves every one of ``platforms``, by JAX's names for them. Weights of
    64 bits keep them. Raises ValueError when an output is missing or differs from the contract in
    dtype or shape, when JAX makes another program for one platform than for another, and for
    what no server runs.
    """
    lowered = lower_programs(name, forward, contract, weights, platforms)
    return {key: encode_program(text, numerics, encoding) for key, text in lowered.items()}


def lower_programs(
    name: str,
    forward: Forward,
    contract: Contract,
    weights: Mapping[str, np.ndarray],
    platforms: Sequence[str] = PLATFORMS,
) -> dict[ProgramKey, str]:
    """Returns every program of ``contract`` as the text of a module, as JAX lowers it.

    Raises what ``export_programs`` raises.
    """
    for weight, array in weights.items():
        _require_array(weight, array)
    with jax.enable_x64(needs_64_bit(contract, weights)):
        return {
            key: _lower_one(name, forward, contract, key, weights, platforms)
            for key in contract.programs()
        }


def run_forward(
    forward: Forward,
    contract: Contract,
    inputs: Mapping[str, np.ndarray],
    weights: Mapping[str, np.ndarray],
) -> dict[str, np.ndarray]:
    """Runs ``forward`` by JAX itself, for numbers to compare a server's with."""
    with jax.enable_x64(needs_64_bit(contract, weights)):
        outputs = jax.jit(forward)(dict(inputs), dict(weights))
        return {tensor.name: np.asarray(outputs[tensor.name]) for tensor in contract.outputs}


def needs_64_bit(contract: Contract, weights: Mapping[str, np.ndarray]) -> bool:
    """Whether JAX, which narrows 64-bit types by default, must be told to keep them."""
    return contract.needs_64_bit or any(array.dtype.itemsize == 8 for array in weights.values())


def _require_array(name: str, value: object) -> None:
    if not isinstance(value, np.ndarray | jax.Array):
        tree = isinstance(value, Mapping | list | tuple)
        advice = (
            "a tree of parameters is exported as the Python object (function, parameters)"
            if tree
            else "make it a numpy array"
        )
        raise ValueError(f"weight '{name}' is a {type(value).__name__}, not an array; {advice}")
    try:
        dtypes.token_of(value.dtype)
    except (ValueError, TypeError) as refusal:
        raise ValueError(f"weight '{name}': {refusal}") from refusal


def _lower_one(
    name: str,
    forward: Forward,
    contract: Contract,
    key: ProgramKey,
    weights: Mapping[str, np.ndarray],
    platforms: Sequence[str],
) -> str:
    input_names = [tensor.name for tensor in contract.inputs]

    def main(*arguments: jax.Array) -> tuple[jax.Array, ...]:
        inputs = dict(zip(input_names, arguments, strict=False))
        held = dict(zip(weights, arguments[len(input_names) :], strict=True))
        outputs = forward(inputs, held)
        _require_outputs(key.file_name, outputs, contract)
        return tuple(outputs[tensor.name] for tensor in contract.outputs)

    main.__name__ = name
    arguments = [_struct(tensor, contract, key) for tensor in contract.inputs]
    arguments += [jax.ShapeDtypeStruct(array.shape, array.dtype) for array in weights.values()]
    # keep_unused: @main's arguments are the manifest's, whatever the function reads.
    jitted = jax.jit(main, keep_unused=True)
    avals, module_text = lowering.lower_for_all(key.file_name, jitted, arguments, platforms)
    for tensor, actual in zip(contract.outputs, avals, strict=True):
        wanted = _struct(tensor, contract, key)
        if (actual.dtype, actual.shape) != (wanted.dtype, wanted.shape):
            wide = sorted(n for n, array in weights.items() if array.dtype.itemsize == 8)
            widened = actual.dtype.itemsize == 8 and wide and not contract.needs_64_bit
            raise ValueError(
                f"{key.file_name}: output '{tensor.name}' is {actual.dtype}{list(actual.shape)}, "
                f"the contract says {wanted.dtype}{list(wanted.shape)}"
                + (f"; weights {wide} have 64 bits: cast them to 32" if widened else "")
            )
    return module_text


def _require_outputs(program: str, outputs: object, contract: Contract) -> None:
    wanted = [tensor.name for tensor in contract.outputs]
    if not isinstance(outputs, Mapping):
        raise ValueError(
            f"{program}: the function returns {_shown(outputs)}, not its outputs by name; "
            f"return a dict with the keys {wanted}"
        )
    missing = [name for name in wanted if name not in outputs]
    if missing:
        raise ValueError(
            f"{program}: the function returns outputs {sorted(outputs)}, and the contract also "
            f"names {missing}"
        )


def _shown(value: object) -> str:
    if isinstance(value, np.ndarray | jax.Array):
        return f"an array {value.dtype}{list(value.shape)}"
    return f"a {type(value).__name__}"


def _struct(tensor: TensorSpec, contract: Contract, key: ProgramKey) -> jax.ShapeDtypeStruct:
    shape = tensor.resolve(key.batch, contract.variant(key))
    return jax.ShapeDtypeStruct(shape, dtypes.numpy_dtype(tensor.dtype))


def encode_program(module_text: str, numerics: Numerics, encoding: Encoding) -> bytes:
    """Returns the program file of a module."""
    with make_ir_context():
        module = lowering.without_locations(module_text)
        apply_numerics(module, numerics)
        match encoding:
            case Encoding.TEXT:
                text = str(module.operation.get_asm(enable_debug_info=False))
                return (text.rstrip("\n") + "\n").encode()
            case Encoding.ARTIFACT:
                return bytes(stablehlo.serialize_portable_artifact(module, ARTIFACT_VERSION))
