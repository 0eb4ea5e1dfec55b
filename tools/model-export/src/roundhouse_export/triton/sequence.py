"""Models with state between requests: ``sequence_batching`` as ``serving.sequence`` has it."""

from typing import Any

from roundhouse_export.contract import Contract
from roundhouse_export.refusal import RefusedError
from roundhouse_export.triton import initial_states
from roundhouse_export.triton.config_file import ConfigFile
from roundhouse_export.triton.serving import duration, queue_delay

_TRITONS_IDLE_MICROSECONDS = 1_000_000
_CONTROLS = {
    "CONTROL_SEQUENCE_START": "start",
    "CONTROL_SEQUENCE_END": "end",
    "CONTROL_SEQUENCE_READY": "ready",
    "CONTROL_SEQUENCE_CORRID": "correlation_id",
}
_FLAG_TYPES = ("f32", "i32", "bool")
_ID_TYPES = ("u64", "i64", "u32", "i32")
_SCOPE = "sequence_batching[0]"


def fed_inputs(config: ConfigFile) -> set[str]:
    """Inputs of the model that the server feeds, which the configuration does not list."""
    batching = config.message.sequence_batching
    return {each.name for each in batching.control_input} | {
        each.input_name for each in batching.state
    }


def kept_outputs(config: ConfigFile) -> list[str]:
    """Outputs that the server keeps, which the configuration does not list."""
    return [each.output_name for each in config.message.sequence_batching.state]


def sequence(config: ConfigFile) -> tuple[dict[str, Any], list[str]]:
    """Returns the ``serving`` section of a model with sequences, and what has no counterpart."""
    if not config.message.HasField("sequence_batching"):
        return {}, []
    batching = config.message.sequence_batching
    if batching.iterative_sequence:
        place = config.at(f"{_SCOPE}.iterative_sequence")
        raise RefusedError(f"{place}: iterative_sequence has no counterpart here")
    section: dict[str, Any] = {
        "idle": duration(batching.max_sequence_idle_microseconds or _TRITONS_IDLE_MICROSECONDS)
    }
    if batching.control_input:
        section["controls"] = _controls(config, batching)
    if batching.state:
        section["state"] = [
            _state(config, state, f"{_SCOPE}.state[{position}]")
            for position, state in enumerate(batching.state)
        ]
    serving: dict[str, Any] = {}
    notes: list[str] = []
    strategy = batching.WhichOneof("strategy_choice")
    if strategy is not None:
        chosen = getattr(batching, strategy)
        if chosen.max_queue_delay_microseconds:
            serving["max_queue_delay"], notes = queue_delay(
                config, chosen.max_queue_delay_microseconds, f"{_SCOPE}.{strategy}[0]"
            )
    if strategy != "oldest":
        notes.append(
            f"{config.at(f'{_SCOPE}.direct', _SCOPE)}: sequences have no slot of their own here; "
            "they are served as by strategy oldest"
        )
    elif batching.oldest.max_candidate_sequences or batching.oldest.preserve_ordering:
        notes.append(
            f"{config.at(f'{_SCOPE}.oldest')}: max_candidate_sequences and preserve_ordering have "
            "no counterpart here"
        )
    for position, state in enumerate(batching.state):
        if state.use_same_buffer_for_input_output or state.use_growable_memory:
            place = config.at(f"{_SCOPE}.state[{position}]")
            notes.append(f"{place}: how Triton keeps state '{state.input_name}' is left out")
    return {**serving, "sequence": section}, notes


def require_tensors(config: ConfigFile, contract: Contract) -> None:
    """RefusedError when the server could not feed a control, or carry a state, of the model."""
    if not config.message.HasField("sequence_batching"):
        return
    inputs = {spec.name: spec for spec in contract.inputs}
    outputs = {spec.name: spec for spec in contract.outputs}
    batching = config.message.sequence_batching
    for position, entry in enumerate(batching.control_input):
        spec = inputs[entry.name]
        kinds = entry.control[0].DESCRIPTOR.fields_by_name["kind"].enum_type.values_by_number
        is_id = _CONTROLS[kinds[entry.control[0].kind].name] == "correlation_id"
        known = _ID_TYPES if is_id else _FLAG_TYPES
        extents = spec.shape[1:] if spec.batched else spec.shape
        if spec.dtype not in known or any(extent != 1 for extent in extents):
            raise RefusedError(
                f"{config.at(f'{_SCOPE}.control_input[{position}]')}: control input "
                f"'{entry.name}' is {spec.dtype}{list(spec.shape)} in the model; the server feeds "
                f"one number of {', '.join(known)}"
            )
    for position, entry in enumerate(batching.state):
        given, kept = inputs[entry.input_name], outputs.get(entry.output_name)
        if kept is None or (given.dtype, given.shape) != (kept.dtype, kept.shape):
            what = "is none of its outputs" if kept is None else f"{kept.dtype}{list(kept.shape)}"
            raise RefusedError(
                f"{config.at(f'{_SCOPE}.state[{position}]')}: state '{entry.input_name}' is "
                f"{given.dtype}{list(given.shape)} in the model, and '{entry.output_name}' {what}"
            )
        if given.variable_letters:
            raise RefusedError(
                f"{config.at(f'{_SCOPE}.state[{position}]')}: state '{entry.input_name}' varies, "
                f"{list(given.shape)}; the server carries state of one size, give it one by --axis"
            )


def _controls(config: ConfigFile, batching: Any) -> dict[str, str]:
    controls: dict[str, str] = {}
    for position, tensor in enumerate(batching.control_input):
        scope = f"{_SCOPE}.control_input[{position}]"
        if len(tensor.control) != 1:
            raise RefusedError(
                f"{config.at(scope)}: control input '{tensor.name}' has {len(tensor.control)} "
                "controls; an input carries one here"
            )
        control = tensor.control[0]
        kinds = control.DESCRIPTOR.fields_by_name["kind"].enum_type.values_by_number
        kind = _CONTROLS[kinds[control.kind].name]
        if kind in controls:
            raise RefusedError(
                f"{config.at(scope)}: '{controls[kind]}' and '{tensor.name}' are both fed the "
                f"control {kind}; one input is"
            )
        values = [
            *control.int32_false_true,
            *control.fp32_false_true,
            *map(int, control.bool_false_true),
        ]
        if kind != "correlation_id" and values != [0, 1]:
            raise RefusedError(
                f"{config.at(f'{scope}.control[0]')}: control input '{tensor.name}' is to be "
                f"{values} for false and true; here it is 0 and 1"
            )
        controls[kind] = tensor.name
    return {key: controls[key] for key in _CONTROLS.values() if key in controls}


def _state(config: ConfigFile, state: Any, scope: str) -> dict[str, str]:
    initial = initial_states.name_of(config, state, scope)
    return {"input": state.input_name, "output": state.output_name, "initial": initial}
