"""From a bundle of format 2.0 to one of format 3, programs byte for byte as they were."""

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from jax.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from roundhouse_export import dtypes, weights
from roundhouse_export.bundle import MANIFEST, Bundle, write_bundle
from roundhouse_export.bundle_v2 import reverse_axes
from roundhouse_export.contract import Contract, ProgramKey
from roundhouse_export.manifest_2 import Manifest2, read_manifest_2
from roundhouse_export.model import ImportOptions
from roundhouse_export.refusal import RefusedError
from roundhouse_export.version import VERSION

_PROGRAM = re.compile(r"model(?:\.v(?P<variant>\d+))?(?:\.b(?P<batch>\d+))?\.mlir")
_MLIR_NAMES = {
    **{f"{letter}{bits}": f"f{bits}" for letter in "f" for bits in (16, 32, 64)},
    **{f"i{bits}": f"i{bits}" for bits in (8, 16, 32, 64)},
    **{f"ui{bits}": f"u{bits}" for bits in (8, 16, 32, 64)},
    "i1": "bool",
    "bf16": "bf16",
    "f8E5M2": "f8_e5m2",
    "f8E4M3FN": "f8_e4m3",
}

Types = list[tuple[str, tuple[int, ...]]]


def convert(source: Path | str, target: Path, options: ImportOptions) -> Bundle:
    """Writes ``target`` as a bundle of format 3, whole or not at all, and returns what it holds.

    The bundle says its own shapes and batch sizes; ``options`` may not say others.
    """
    folder = Path(source)
    if options.inputs or options.axes:
        raise RefusedError(
            f"{folder}: its programs are made; --input and --axis do not change them"
        )
    if options.pad or options.trim:
        raise RefusedError(
            f"{folder}: what its programs make of padding cannot be compared with a framework; "
            "leave --pad and --trim out, and write pad and trim into the manifest of the new bundle"
        )
    if target.resolve() == folder.resolve():
        raise RefusedError(f"{folder}: the new bundle would replace it; give another place")
    if target.exists() and not (target / MANIFEST).exists():
        raise RefusedError(f"{target} is there and is no bundle; give another place, or remove it")
    manifest = read_manifest_2(folder)
    programs = _programs(folder, manifest)
    held = _weights(folder)
    try:
        sizes = tuple(sorted({key.batch for key in programs if key.batch is not None}))
        contract = Contract(manifest.inputs, manifest.outputs, sizes, manifest.variants)
        bundle = Bundle(
            contract=contract,
            description=manifest.description,
            programs=programs,
            weights=held,
            provenance={
                **manifest.provenance,
                "converted_from": f"format 2.0, by roundhouse-export {VERSION}",
            },
            assets=_assets(folder),
        )
    except ValueError as refusal:
        raise RefusedError(f"{folder}: {refusal}") from refusal
    for key, code in programs.items():
        _require_signature(folder, contract, key, held, _signature(folder / key.file_name, code))
    write_bundle(bundle, target)
    return bundle


def _programs(folder: Path, manifest: Manifest2) -> dict[ProgramKey, bytes]:
    """Returns every program that the contract needs; one without a batch size in its name, for a
    model that has a batch, is for as many rows as its own arguments say."""
    batched = any(tensor.batched for tensor in manifest.inputs)
    programs: dict[ProgramKey, bytes] = {}
    for path in sorted(folder.iterdir()):
        name = _PROGRAM.fullmatch(path.name)
        if not name:
            continue
        code = path.read_bytes()
        variant = int(name["variant"]) if name["variant"] else None
        batch = int(name["batch"]) if name["batch"] else None
        if batched and batch is None:
            batch = _rows(path, code, manifest)
        programs.setdefault(ProgramKey(variant, batch), code)
    missing = set(manifest.batch_sizes) - {key.batch for key in programs}
    if not programs or (missing and batched):
        what = f"batch sizes {sorted(missing)}" if missing else "any program"
        raise RefusedError(f"{folder}: there is no file for {what}; files are model.bN.mlir")
    return programs


def _rows(path: Path, code: bytes, manifest: Manifest2) -> int:
    arguments, _ = _signature(path, code)
    position = next(i for i, tensor in enumerate(manifest.inputs) if tensor.batched)
    if position >= len(arguments) or not arguments[position][1]:
        raise RefusedError(f"{path}: @main has no argument with a batch axis")
    return arguments[position][1][0]


def _signature(path: Path, code: bytes) -> tuple[Types, Types]:
    """Returns the types of arguments and results of ``@main``."""
    with make_ir_context() as context:
        try:
            if code.startswith(b"ML\xefR"):
                module = stablehlo.deserialize_portable_artifact(context, code)
            else:
                module = ir.Module.parse(code)
            functions = [op for op in module.body.operations if op.operation.name == "func.func"]
            main = next(
                op for op in functions if ir.StringAttr(op.attributes["sym_name"]).value == "main"
            )
            kind = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
        except (ir.MLIRError, ValueError, StopIteration) as error:
            raise RefusedError(
                f"{path} is no StableHLO that this release reads, or has no @main"
            ) from error
        return _types(kind.inputs), _types(kind.results)


def _types(mlir_types: list[ir.Type]) -> Types:
    tensors = [ir.RankedTensorType(each) for each in mlir_types]
    return [
        (_MLIR_NAMES.get(str(each.element_type), str(each.element_type)), tuple(each.shape))
        for each in tensors
    ]


def _require_signature(
    folder: Path,
    contract: Contract,
    key: ProgramKey,
    held: Mapping[str, np.ndarray],
    found: tuple[Types, Types],
) -> None:
    """A program that takes something else than its manifest says would read wrong numbers."""
    variant = contract.variant(key)

    def of(tensors: tuple) -> list:  # type: ignore[type-arg]
        return [(each.name, each.dtype, each.resolve(key.batch, variant)) for each in tensors]

    arguments = of(contract.inputs)
    arguments += [(name, dtypes.token_of(a.dtype), a.shape) for name, a in held.items()]
    for what, wanted, actual in (
        ("arguments", arguments, found[0]),
        ("results", of(contract.outputs), found[1]),
    ):
        where = f"{folder / key.file_name}: @main"
        if len(wanted) != len(actual):
            raise RefusedError(
                f"{where} has {len(actual)} {what}; manifest and weights ask for {len(wanted)}"
            )
        for (name, dtype, shape), (found_dtype, found_shape) in zip(wanted, actual, strict=True):
            if (dtype, tuple(shape)) != (found_dtype, found_shape):
                raise RefusedError(
                    f"{where} has {found_dtype}{list(found_shape)} for '{name}'; "
                    f"manifest and weights say {dtype}{list(shape)}"
                )


def _weights(folder: Path) -> dict[str, np.ndarray]:
    path = folder / weights.FILE_NAME
    try:
        stored = weights.decode(path.read_bytes())
    except OSError as error:
        raise RefusedError(f"{path}: {error.strerror}; a model has such a file") from error
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise RefusedError(f"{path}: {reason}") from error
    return {name: reverse_axes(array) for name, array in stored.items()}


def _assets(folder: Path) -> dict[str, bytes]:
    assets = {}
    for path in sorted(folder.iterdir()):
        if path.name in (MANIFEST, weights.FILE_NAME) or _PROGRAM.fullmatch(path.name):
            continue
        if path.is_dir():
            raise RefusedError(f"{path} is a folder; bundles here have files beside the manifest")
        assets[path.name] = path.read_bytes()
    return assets
