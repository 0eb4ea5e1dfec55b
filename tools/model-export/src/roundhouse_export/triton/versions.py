"""Which versions of a model Triton would serve, and how the operator says that here."""

from roundhouse_export.refusal import RefusedError
from roundhouse_export.triton.folder import TritonFolder


def chosen(folder: TritonFolder) -> list[int]:
    """Versions that the model's own policy serves, ascending; one that it names may be missing."""
    there = folder.versions()
    if not there:
        raise RefusedError(f"{folder.place}: no version folder, such as {folder.path / '1'}")
    policy = folder.config.message.version_policy if folder.config else None
    match policy.WhichOneof("policy_choice") if policy is not None else None:
        case "all":
            return there
        case "specific":
            named = sorted(set(policy.specific.versions))
            if not named or named[0] < 1:
                place = folder.config.at("version_policy[0].specific") if folder.config else ""
                raise RefusedError(f"{place}: versions {named} are none; name 1 or more")
            return named
        case "latest" if policy is not None:
            return there[-max(1, policy.latest.num_versions) :]
        case _:
            return there[-1:]


def setting(folder: TritonFolder) -> str | None:
    """The operator's setting that serves the same versions; None where the default does."""
    policy = folder.config.message.version_policy if folder.config else None
    match policy.WhichOneof("policy_choice") if policy is not None else None:
        case "all":
            wanted = "all"
        case "specific":
            wanted = ",".join(str(number) for number in chosen(folder))
        case "latest" if policy is not None and policy.latest.num_versions > 1:
            wanted = f"latest:{policy.latest.num_versions}"
        case _:
            return None
    return f"roundhouse.worker.models.{folder.name}.version-policy={wanted}"
