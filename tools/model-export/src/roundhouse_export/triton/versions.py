"""Which versions of a model Triton would serve, and how the operator says that here."""

from typing import Any

from roundhouse_export.refusal import RefusedError
from roundhouse_export.triton.folder import TritonFolder


def chosen(folder: TritonFolder) -> list[int]:
    """Versions that the model's own policy serves, ascending; one that it names may be missing."""
    there = folder.versions()
    if not there:
        raise RefusedError(f"{folder.place}: no version folder, such as {folder.path / '1'}")
    choice, policy = _policy(folder)
    match choice:
        case "all":
            return there
        case "specific":
            named = sorted(set(policy.specific.versions))
            if not named or named[0] < 1:
                raise RefusedError(
                    f"{folder.place}: version_policy names versions {named}; name some from 1 on"
                )
            return named
        case "latest":
            return there[-max(1, policy.latest.num_versions) :]
        case _:
            return there[-1:]


def setting(folder: TritonFolder) -> str | None:
    """The operator's setting that serves the same versions; None where the default does."""
    choice, policy = _policy(folder)
    match choice:
        case "all":
            wanted = "all"
        case "specific":
            wanted = ",".join(str(number) for number in chosen(folder))
        case "latest" if policy.latest.num_versions > 1:
            wanted = f"latest:{policy.latest.num_versions}"
        case _:
            return None
    return f"roundhouse.worker.models.{folder.name}.version-policy={wanted}"


def _policy(folder: TritonFolder) -> tuple[str | None, Any]:
    if folder.config is None:
        return None, None
    policy = folder.config.message.version_policy
    return policy.WhichOneof("policy_choice"), policy
