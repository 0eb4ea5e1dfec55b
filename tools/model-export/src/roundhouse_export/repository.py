"""Whole repositories: every model of Triton's, and every ``.onnx`` file, becomes a bundle."""

import dataclasses
import errno
import fcntl
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from roundhouse_export import import_record, repository_models
from roundhouse_export.folder import replace_folder, staged
from roundhouse_export.import_record import ImportRecord
from roundhouse_export.model import BareBundle, ImportOptions
from roundhouse_export.refusal import RefusedError
from roundhouse_export.refused_bundle import write_refused
from roundhouse_export.repository_models import FoundModel, Loader
from roundhouse_export.repository_row import Row, Status, rendered, to_json
from roundhouse_export.sources import missing

if TYPE_CHECKING:
    from roundhouse_export.model import Model

__all__ = ["Row", "Status", "convert_repository", "rendered", "to_json"]

Progress = Callable[[str], None]

_LOCK = ".import.lock"
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


def convert_repository(
    source_dir: Path, target_dir: Path, options: ImportOptions, progress: Progress
) -> list[Row]:
    """Makes ``target_dir/NAME`` of every model, and returns what became of each.

    What was made before from the same files by the same exporter is left alone. A model that
    cannot be converted leaves a folder that a server lists as failed, with the reason. What was
    made from this repository and is no longer in it is removed; nothing else is touched. OSError
    when nothing more can be written: models before that are whole, and the others as they were.
    """
    if not source_dir.is_dir():
        raise RefusedError(f"{source_dir}: no such folder")
    if options.name is not None:
        raise RefusedError("--name is of one model; a repository's are named by their folders")
    source_dir, target_dir = source_dir.resolve(), target_dir.resolve()
    if target_dir == source_dir:
        raise RefusedError(f"{target_dir}: --out must be another folder than the repository")
    target_dir.mkdir(parents=True, exist_ok=True)
    with _locked(target_dir):
        found = repository_models.find(source_dir)
        rows = []
        taken: dict[str, Path] = {}
        for model in found:
            if model.name in taken:
                reason = f"{model.path}: {taken[model.name]} is model '{model.name}' already"
                rows.append(Row(model.name, None, model.kind, Status.REFUSED, reason=reason))
                continue
            taken[model.name] = model.path
            rows += _converted(model, source_dir, target_dir / model.name, options, progress)
        return rows + _without_vanished(source_dir, target_dir, set(taken), progress)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Two runs on one folder take turns."""
    with (folder / _LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _converted(
    found: FoundModel,
    repository: Path,
    target: Path,
    options: ImportOptions,
    progress: Progress,
) -> list[Row]:
    record = import_record.read(target)
    if record is None and (target.exists() or target.is_symlink()):
        reason = f"{target} is there and was not made from a repository; remove or rename it"
        return [Row(found.name, None, found.kind, Status.REFUSED, reason=reason)]
    try:
        trust = options.trust and found.needs_trust
        key = import_record.key(found.files(), dataclasses.replace(options, trust=trust))
    except (OSError, RefusedError) as wrong:
        key, loaders = "", _refusing(RefusedError(str(wrong)))
    else:
        if record is not None and (record.key, record.repository) == (key, str(repository)):
            return [
                row if row.is_refused else dataclasses.replace(row, status=Status.UNCHANGED)
                for row in record.rows
            ]
        loaders = _loaders(found)
    with staged(target) as fresh:
        rows = []
        for version, loader in loaders.items():
            progress(f"{found.name}, version {version}" if version else found.name)
            place = fresh / str(version) if version and found.kind == "triton" else fresh
            row, is_final = _one(found, version, loader, place, options)
            key = key if is_final else ""
            rows.append(row)
        import_record.write(fresh, ImportRecord(str(repository), key, rows))
    return rows


def _loaders(found: FoundModel) -> "dict[int | None, Loader]":
    try:
        return repository_models.versions(found)
    except RefusedError as refusal:
        return _refusing(refusal)


def _refusing(refusal: RefusedError) -> "dict[int | None, Loader]":
    def refuse(options: ImportOptions) -> "Model":
        raise refusal

    return {None: refuse}


def _one(
    found: FoundModel, version: int | None, loader: Loader, place: Path, options: ImportOptions
) -> tuple[Row, bool]:
    """Makes the bundle of one version; also returns whether it would end like this again."""
    number = 1 if found.kind == "onnx" else version
    is_final = True
    try:
        return _exported(found, number, loader(options), place), True
    except ModuleNotFoundError as error:
        reason = str(missing.refusal(f"{found.path} is {found.described}", "triton", error))
        is_final = False
    except RefusedError as refusal:
        reason = str(refusal)
        is_final = not isinstance(refusal.__cause__, ModuleNotFoundError)
    except Exception as defect:  # one model that nobody foresaw must not keep the others away
        if isinstance(defect, OSError) and defect.errno in _NO_ROOM:
            raise
        said = (str(defect).splitlines() or [""])[0]
        reason, is_final = f"{found.path}: {type(defect).__name__}: {said}", False
    write_refused(place, reason)
    return Row(found.name, number, found.kind, Status.REFUSED, reason=reason), is_final


def _exported(
    found: FoundModel, version: int | None, model: "Model | BareBundle", place: Path
) -> Row:
    if isinstance(model, BareBundle):
        replace_folder(place, model.files)
        return Row(found.name, version, found.kind, Status.CONVERTED)
    from roundhouse_export import pipeline, validation
    from roundhouse_export.padding_notes import padding_notes

    pipeline.export_model(model, place)
    notes = (*model.notes, *padding_notes(model.contract))
    row = Row(found.name, version, found.kind, Status.CONVERTED, notes=notes)
    if model.reference is None:
        return row
    findings = validation.against_reference(place, model.reference)
    refusal = validation.padding_refusal(findings)
    if refusal:
        raise RefusedError(f"{found.path}: {refusal}")
    asked = [each.largest_difference for each in findings if each.inputs == "random"]
    off = [each for each in findings if each.is_wrong]
    reason = ""
    if off:
        worst = max(off, key=lambda each: each.largest_difference - each.tolerance)
        reason = (
            f"output '{worst.output}' of {worst.program} is off by {worst.largest_difference:.3g} "
            f"for {worst.inputs} inputs, where {worst.tolerance:.3g} is to be expected"
        )
    return dataclasses.replace(row, difference=max(asked, default=None), reason=reason)


def _without_vanished(source: Path, target: Path, kept: set[str], progress: Progress) -> list[Row]:
    rows = []
    for each in sorted(target.iterdir()):
        record = None if each.is_symlink() else import_record.read(each)
        if record is None or record.repository != str(source) or each.name in kept:
            continue
        progress(f"removing {each.name}")
        shutil.rmtree(each)
        kind = record.rows[0].source if record.rows else ""
        reason = f"it is no longer in {source}"
        rows.append(Row(each.name, None, kind, Status.REMOVED, reason=reason))
    return rows
