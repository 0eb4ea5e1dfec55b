"""Triton's types of elements as manifests name them."""

from typing import Any

_TOKENS = {
    "BOOL": "bool",
    "UINT8": "u8",
    "UINT16": "u16",
    "UINT32": "u32",
    "UINT64": "u64",
    "INT8": "i8",
    "INT16": "i16",
    "INT32": "i32",
    "INT64": "i64",
    "FP16": "f16",
    "FP32": "f32",
    "FP64": "f64",
    "STRING": "bytes",
    "BF16": "bf16",
}


def token(tensor: Any) -> str:
    """The manifest's token of an input's or output's ``data_type``; empty for TYPE_INVALID."""
    kinds = tensor.DESCRIPTOR.fields_by_name["data_type"].enum_type.values_by_number
    return _TOKENS.get(kinds[tensor.data_type].name.removeprefix("TYPE_"), "")
