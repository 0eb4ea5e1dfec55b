"""Where a bundle came from, without anything that differs between two builds of one source."""

import os
from datetime import UTC, datetime

from roundhouse_export.version import VERSION

# What `created` says when SOURCE_DATE_EPOCH is not set.
_DEFAULT_EPOCH_SECONDS = 1795219200  # 2026-11-21T00:00:00Z


def provenance(framework: str, **more: str) -> dict[str, str]:
    """Returns the manifest's provenance for weights and programs made with ``framework``."""
    return {
        "exporter": f"roundhouse-export {VERSION}",
        "framework": framework,
        "created": created(),
        **more,
    }


def created() -> str:
    """Returns SOURCE_DATE_EPOCH (seconds since 1970) as an ISO time, or a fixed one."""
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", _DEFAULT_EPOCH_SECONDS))
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
