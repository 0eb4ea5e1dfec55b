"""A folder that a server lists as a model that failed, with the reason it was not made.

Its manifest is of kind ``refused``, has the reason in one line, and no other file.
"""

from pathlib import Path

from roundhouse_export.bundle import MANIFEST
from roundhouse_export.folder import replace_folder
from roundhouse_export.manifest_yaml import to_yaml
from roundhouse_export.provenance import created
from roundhouse_export.version import VERSION


def write_refused(target: Path, reason: str) -> None:
    manifest = {
        "format_version": "3",
        "kind": "refused",
        "reason": " ".join(reason.split()),
        "files": {},
        "provenance": {"exporter": f"roundhouse-export {VERSION}", "created": created()},
    }
    replace_folder(target, {MANIFEST: to_yaml(manifest)})
