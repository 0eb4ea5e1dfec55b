"""What a configuration says of a TorchScript file's inputs, as such a file does not say it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from roundhouse_export.refusal import RefusedError
from roundhouse_export.triton import data_types
from roundhouse_export.triton.config_file import ConfigFile
from roundhouse_export.triton.folder import TritonFolder
from roundhouse_export.triton.signature import Signature, SignatureTensor

_CONTROL_TYPES = {
    "int32_false_true": "i32",
    "fp32_false_true": "f32",
    "bool_false_true": "bool",
}


def read(folder: TritonFolder, file: Path) -> Signature:
    """RefusedError when the configuration lacks what only it can say."""
    config = folder.config
    message = config.message if config is not None else None
    if config is None or message is None or not message.input or not message.output:
        raise RefusedError(
            f"{folder.place}: TorchScript does not say what its inputs and outputs are; list them "
            f"in {folder.path / 'config.pbtxt'}, with data_type and dims"
        )
    return Signature(file, tuple(_tensors(config)), (), frozenset())


def _tensors(config: ConfigFile) -> Iterator[SignatureTensor]:
    """Inputs that clients send, then those that the server feeds."""
    message = config.message
    listed = {each.name for each in message.input}
    for position, entry in enumerate(message.input):
        if entry.optional:
            raise RefusedError(
                f"{config.at(f'input[{position}].optional')}: input '{entry.name}' is optional, "
                "and programs take every input; make it required"
            )
        dims = entry.reshape.shape if entry.HasField("reshape") else entry.dims
        yield _tensor(config, f"input[{position}]", entry.name, data_types.token(entry), dims)
    batching = message.sequence_batching
    for position, entry in enumerate(batching.control_input):
        if entry.name not in listed:
            scope = f"sequence_batching[0].control_input[{position}]"
            yield _tensor(config, scope, entry.name, _control_type(entry), (1,))
    for position, entry in enumerate(batching.state):
        if entry.input_name not in listed:
            scope = f"sequence_batching[0].state[{position}]"
            yield _tensor(config, scope, entry.input_name, data_types.token(entry), entry.dims)


def _tensor(config: ConfigFile, scope: str, name: str, dtype: str, dims: Any) -> SignatureTensor:
    if dtype in ("", "bytes"):
        has = "is TYPE_STRING" if dtype else "has no data_type"
        raise RefusedError(
            f"{config.at(f'{scope}.data_type', scope)}: input '{name}' {has}; TorchScript takes "
            "tensors of numbers, say which"
        )
    batch = [None] if config.message.max_batch_size > 0 else []
    return SignatureTensor(name, dtype, (*batch, *(None if dim < 0 else int(dim) for dim in dims)))


def _control_type(entry: Any) -> str:
    control = entry.control[0] if entry.control else None
    for field, dtype in _CONTROL_TYPES.items():
        if control is not None and getattr(control, field):
            return dtype
    return data_types.token(control) if control is not None else ""
