"""Files of PyTorch, looked into before PyTorch loads them: what would they run?

A ``.pt2`` names operators by paths of Python, has sizes as texts that sympy evaluates, and example
inputs as a pickle. Those that ``torch.export.save`` writes of plain modules need nothing but
operators, arithmetic and tensors, and that alone is let through.
"""

import io
import json
import pickletools
import re
import zipfile
from collections.abc import Iterator
from typing import Any

from roundhouse_export.refusal import RefusedError

_ARITHMETIC = "add|sub|mul|floordiv|truediv|mod|pow|neg|pos|lt|le|gt|ge|eq|ne|and_|or_|not_|getitem"
_TARGET = re.compile(
    r"torch\.ops\.[A-Za-z]\w*\.(_?[A-Za-z]\w*|__[a-z]+__)(\.[A-Za-z]\w*)?"
    rf"|_operator\.({_ARITHMETIC})|math\.[a-z]\w*|torch\.sym_[a-z]\w*"
)
_SIZE = re.compile(r"[\w\s+*/%(),<>=&|~.-]*")
_SYMBOL = re.compile(r"Symbol\('\w+'(, \w+=(True|False))*\)")
_CALLED = re.compile(r"([A-Za-z_]\w*)\s*\(")
_FUNCTIONS = frozenset(
    re.findall(
        r"\w+",
        "FloorDiv ModularIndexing Where PythonMod Mod CleanDiv CeilToInt FloorToInt CeilDiv LShift "
        "RShift PowByNatural FloatPow FloatTrueDiv IntTrueDiv IsNonOverlappingAndDenseIndicator "
        "TruncToFloat TruncToInt RoundToInt RoundDecimal ToFloat Identity Max Min Eq Ne Lt Le Gt "
        "Ge And Or Not Add Mul Pow Integer Rational floor ceiling Equality Unequality LessThan "
        "StrictLessThan GreaterThan StrictGreaterThan",
    )
)
_MADE = re.compile(
    r"collections OrderedDict|torch \w+(Storage|Size)|torch (device|[a-z]+\d+\w*|bool|Tensor)"
    r"|torch\._utils _rebuild_(tensor_v2|parameter|device_tensor_from_numpy)"
    r"|torch\.serialization _get_layout|torch\.nn\.parameter Parameter"
)
_LARGEST_TEXT = 256 << 20


def require_plain(source: str) -> None:
    """Raises RefusedError when a ``.pt2`` file could do more than compute, with what it names."""
    strange = next(_strange(source), None)
    if strange is not None:
        raise RefusedError(
            f"{source}: {strange}, which could run code from the file; give --trust if you know "
            "who made it"
        )


def is_program(source: str) -> bool:
    """Whether a file that PyTorch wrote has TorchScript's code, and not a pickle alone."""
    if not zipfile.is_zipfile(source):
        return False
    with zipfile.ZipFile(source) as archive:
        return any(name.endswith("/constants.pkl") for name in archive.namelist())


def _strange(source: str) -> Iterator[str]:
    try:
        with zipfile.ZipFile(source) as archive:
            for entry in archive.infolist():
                yield from _strange_entry(archive, entry)
    except (zipfile.BadZipFile, ValueError, OSError, EOFError) as broken:
        raise RefusedError(
            f"{source}: cannot be loaded ({broken}); save it with torch.export.save"
        ) from broken


def _strange_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[str]:
    _, _, name = entry.filename.partition("/")
    folder, _, file = name.rpartition("/")
    if file.startswith("custom_obj_"):
        yield f"it holds an object of Python ({name})"
    elif folder == "models" or file.endswith("_config.json"):
        if entry.file_size > _LARGEST_TEXT:
            raise ValueError(f"{name} has {entry.file_size} bytes")
        yield from _strange_json(json.loads(archive.read(entry)))
    elif folder == "data/sample_inputs":
        yield from _strange_tensors(archive.read(entry), name)
    elif file.endswith(".pt") or "/" not in entry.filename:
        yield f"it is of an old form ({entry.filename})"


def _strange_json(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _strange_json(each)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key == "use_pickle" and inner:
                yield "a weight of it is a pickle"
            elif key == "target" and isinstance(inner, str) and not _TARGET.fullmatch(inner):
                yield f"its operator '{inner[:100]}' is none of PyTorch's"
            elif key == "expr_str" and not _is_size(inner):
                yield f"its size '{str(inner)[:100]}' is no arithmetic"
            else:
                yield from _strange_json(inner)


def _is_size(text: Any) -> bool:
    if not isinstance(text, str):
        return False
    text = _SYMBOL.sub("s", text)
    return (
        bool(_SIZE.fullmatch(text))
        and "__" not in text
        and not re.search(r"\.\s*[A-Za-z_]", text)
        and set(_CALLED.findall(text)) <= _FUNCTIONS
    )


def _strange_tensors(data: bytes, name: str) -> Iterator[str]:
    """What a file of ``torch.save`` would make that is no tensor."""
    if not data:
        return
    if not zipfile.is_zipfile(io.BytesIO(data)):
        yield f"{name} is of an old form"
        return
    with zipfile.ZipFile(io.BytesIO(data)) as inner:
        for entry in inner.namelist():
            if entry.endswith("/data.pkl"):
                for operation, argument, _ in pickletools.genops(inner.read(entry)):
                    if operation.name == "GLOBAL" and not _MADE.fullmatch(str(argument)):
                        yield f"{name} makes '{argument}'"
                    elif operation.name in ("STACK_GLOBAL", "INST", "OBJ", "NEWOBJ", "NEWOBJ_EX"):
                        yield f"{name} makes objects by {operation.name}"
            elif entry.endswith(".pkl") or "/code/" in entry:
                yield f"{name} holds '{entry}'"
