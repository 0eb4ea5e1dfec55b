"""What of a configuration has no counterpart here: told in notes, or refused where it matters."""

from roundhouse_export.refusal import RefusedError
from roundhouse_export.triton.config_file import ConfigFile

_NOTES = {
    "instance_group": "has no counterpart here: which devices serve, and by how many workers, is "
    "the operator's",
    "optimization": "has no counterpart here: programs are compiled by XLA",
    "parameters": "have no counterpart here",
    "metric_tags": "have no counterpart here",
    "model_metrics": "has no counterpart here",
    "cc_model_filenames": "have no counterpart here: one file serves every device",
    "response_cache": "has no counterpart here: answers are not cached",
    "model_warmup": "is not needed: the server runs every program before a model is ready",
    "runtime": "has no counterpart here",
}
_REFUSED = {
    "batch_input": "tells a model how rows were joined, which has no counterpart here",
    "batch_output": "scatters rows by another input, which has no counterpart here",
    "model_repository_agents": "change a model's files before it is read; run them yourself, and "
    "convert what they leave",
    "model_operations": "are libraries of operators, and no library runs inside a program",
}


def notes(config: ConfigFile) -> list[str]:
    """One line, with its place, for every section that is set and has nothing to become."""
    message = config.message
    there = {field.name for field, _ in message.ListFields()}
    found = []
    for field in (each for each in _NOTES if each in there):
        limits = field == "instance_group" and any(
            group.HasField("rate_limiter") for group in message.instance_group
        )
        what = f"{field} with its rate_limiter" if limits else field
        found.append(f"{config.at(field)}: {what} {_NOTES[field]}")
    for position, tensor in enumerate(message.input):
        if tensor.format:
            place = config.at(f"input[{position}].format")
            found.append(f"{place}: format of input '{tensor.name}' only informs, and is left out")
    return found


def require(config: ConfigFile) -> None:
    """RefusedError for what would change answers if it were left out."""
    message = config.message
    there = {field.name for field, _ in message.ListFields()}
    for field in (each for each in _REFUSED if each in there):
        raise RefusedError(f"{config.at(field)}: {field} {_REFUSED[field]}")
    if message.model_transaction_policy.decoupled:
        place = config.at("model_transaction_policy[0].decoupled")
        raise RefusedError(
            f"{place}: a decoupled model answers a request any number of times; here it is once"
        )
    for section in ("input", "output"):
        for position, tensor in enumerate(getattr(message, section)):
            for field, why in (
                ("allow_ragged_batch", "joins rows of several lengths, which programs cannot take"),
                ("is_shape_tensor", "is a shape of TensorRT's"),
                ("is_non_linear_format_io", "is laid out as TensorRT has it"),
            ):
                if getattr(tensor, field, False):
                    place = config.at(f"{section}[{position}].{field}")
                    raise RefusedError(f"{place}: {field}: {section} '{tensor.name}' {why}")
