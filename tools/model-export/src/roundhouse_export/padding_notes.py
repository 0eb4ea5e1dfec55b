"""What a person who gives an import lengths may not have said of padding."""

from roundhouse_export.contract import Contract
from roundhouse_export.padded_requests import described

_MASK = "attention_mask"
_TRANSFORMERS = {"input_ids", _MASK, "token_type_ids"}
"""Inputs of Hugging Face's models, of which the mask says what is padding."""


def padding_notes(contract: Contract) -> tuple[str, ...]:
    """Says what to add; nothing where nothing is missing, or where it cannot be told."""
    if contract.pad:
        return tuple(
            f"output '{spec.name}' has a padded axis and is not cut back: callers get what stands "
            f"for padding too; to have it cut back add --trim {spec.name}"
            for spec in contract.outputs
            if spec.variable_letters & contract.padded_letters and spec.name not in contract.trim
        )
    varying = [spec for spec in contract.inputs if spec.variable_letters]
    names = {spec.name for spec in varying}
    if _MASK not in names or not names <= _TRANSFORMERS:
        return ()
    options = [f"--pad {spec.name}=0" for spec in varying]
    options += [f"--trim {spec.name}" for spec in contract.outputs if spec.variable_letters]
    sizes = " or ".join(described(variant) for variant in contract.variants)
    return (
        f"requests have {sizes} and nothing between; to have shorter ones padded and their "
        f"answers cut back add {' '.join(options)}",
    )
