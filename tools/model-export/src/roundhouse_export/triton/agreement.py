"""Whether a configuration and its model's file say the same of inputs, and what both say."""

from collections.abc import Iterator, Mapping
from typing import Any

from roundhouse_export.model import ImportOptions
from roundhouse_export.refusal import RefusedError
from roundhouse_export.triton import data_types, sequence
from roundhouse_export.triton.config_file import ConfigFile
from roundhouse_export.triton.signature import Signature, SignatureTensor


def axes(
    config: ConfigFile, signature: Signature, options: ImportOptions
) -> dict[str, tuple[int, ...]]:
    """Returns sizes for every axis that varies in the file and is not the batch.

    Sizes are the configuration's where it has one, else those of ``options.axes``. Every input is
    compared: RefusedError has what both say of it.
    """
    batched = config.message.max_batch_size > 0
    found = dict(options.axes)
    fixed: dict[str, tuple[int, str]] = {}
    for tensor, dims, place in _pairs(config, signature):
        if tensor.name in options.inputs:
            continue  # what a person says of an input stands
        start = 0
        if batched:
            _require_batch_axis(config, signature, tensor)
            start = 1
        for position in range(start, len(tensor.dims or ())):
            if isinstance((tensor.dims or ())[position], int):
                continue
            key = tensor.axis_key(position)
            extent = dims[position - start] if dims is not None else -1
            if extent >= 0:
                known, where = fixed.setdefault(key, (extent, place))
                if known != extent:
                    raise RefusedError(
                        f"{place}: axis '{key}' of {signature.file} is {extent} in input "
                        f"'{tensor.name}', and {known} at {where}"
                    )
                found[key] = (extent,)
            elif key not in options.axes:
                raise RefusedError(_without_sizes(place, tensor, position, key, batched))
    return found


def _without_sizes(
    place: str, tensor: SignatureTensor, position: int, key: str, batched: bool
) -> str:
    text = f"{place}: axis {position} of input '{tensor.name}' varies ('{key}'), and programs have "
    if position == 0 and not batched:
        return (
            f"{text}fixed shapes; give its sizes, --axis {key}=1,8, or set max_batch_size if rows "
            "do not depend on each other"
        )
    return f"{text}fixed shapes; give its sizes: --axis {key}=16,64,128"


def _pairs(
    config: ConfigFile, signature: Signature
) -> Iterator[tuple[SignatureTensor, tuple[int, ...] | None, str]]:
    """Yields every input of the file with its dims in the configuration, if that lists it."""
    listed = {each.name: (each, i) for i, each in enumerate(config.message.input)}
    fed = sequence.fed_inputs(config)
    there = {each.name for each in signature.inputs}
    for name in (*listed, *sorted(fed)):
        if name not in there:
            _refuse_unknown(config, signature, name, listed)
    for tensor in signature.inputs:
        if tensor.name in listed:
            entry, position = listed[tensor.name]
            place = config.at(f"input[{position}].dims", f"input[{position}]")
            dims = _compared(config, signature, entry, tensor, f"input[{position}]")
            yield tensor, dims, place
        elif listed and tensor.name not in fed:
            raise RefusedError(
                f"{config.at('input')}: no input '{tensor.name}' here, and {signature.file} needs "
                "it"
            )
        else:
            yield tensor, None, str(config.path)


def _refuse_unknown(
    config: ConfigFile, signature: Signature, name: str, listed: Mapping[str, tuple[Any, int]]
) -> None:
    entry, position = listed.get(name, (None, 0))
    place = config.at(f"input[{position}].name") if entry else config.at("sequence_batching")
    if name in signature.filled:
        if entry is not None and entry.optional:
            return  # the file's own value is compiled in
        raise RefusedError(
            f"{place}: input '{name}' has a value in {signature.file}, which is compiled in; take "
            "it out of the configuration or out of the file's initializers"
        )
    names = ", ".join(each.name for each in signature.inputs)
    raise RefusedError(f"{place}: input '{name}' is not one of {signature.file}: {names}")


def _compared(
    config: ConfigFile,
    signature: Signature,
    entry: Any,
    tensor: SignatureTensor,
    scope: str,
) -> tuple[int, ...]:
    """Compares type and dims; returns the dims that the model itself takes."""
    if entry.optional:
        raise RefusedError(
            f"{config.at(f'{scope}.optional')}: input '{entry.name}' is optional, and programs "
            f"take every input; give it a value in {signature.file}, or make it required"
        )
    dtype = data_types.token(entry)
    if dtype and dtype != tensor.dtype:
        place = config.at(f"{scope}.data_type")
        raise RefusedError(
            f"{place}: input '{entry.name}' is {dtype}, and {tensor.dtype} in {signature.file}"
        )
    dims = tuple(entry.reshape.shape) if entry.HasField("reshape") else tuple(entry.dims)
    if tensor.dims is None:
        return dims
    batched = config.message.max_batch_size > 0
    inner = tensor.dims[1:] if batched else tensor.dims
    agrees = len(dims) == len(inner) and all(
        a < 0 or not isinstance(b, int) or a == b for a, b in zip(dims, inner, strict=True)
    )
    if not agrees:
        place = config.at(f"{scope}.reshape", f"{scope}.dims")
        beside = " beside the batch" if batched else ""
        raise RefusedError(
            f"{place}: input '{entry.name}' is {list(dims)}{beside}, and "
            f"{_shown(tensor)} in {signature.file}"
        )
    return dims


def _require_batch_axis(config: ConfigFile, signature: Signature, tensor: SignatureTensor) -> None:
    if tensor.dims is None or (tensor.dims and not isinstance(tensor.dims[0], int)):
        return
    raise RefusedError(
        f"{config.at('max_batch_size')}: max_batch_size is {config.message.max_batch_size}, and "
        f"input '{tensor.name}' of {signature.file} is {_shown(tensor)}, whose first axis does not "
        "vary; export it with one that does, or leave max_batch_size out"
    )


def _shown(tensor: SignatureTensor) -> str:
    dims = tensor.dims or ()
    return f"[{', '.join('?' if dim is None else str(dim) for dim in dims)}]"
