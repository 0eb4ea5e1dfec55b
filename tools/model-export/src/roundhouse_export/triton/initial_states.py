"""What the state of sequences begins with: ``initial_state`` of ``sequence_batching.state``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from roundhouse_export.contract import Contract
from roundhouse_export.refusal import RefusedError
from roundhouse_export.serving import ZERO, bytes_of_one_row
from roundhouse_export.triton import data_types
from roundhouse_export.triton.asset_files import state_file
from roundhouse_export.triton.config_file import ConfigFile


def name_of(config: ConfigFile, state: Any, scope: str) -> str:
    """What the manifest calls it: ``zero``, or a file of the bundle."""
    files = [each for each in state.initial_state if _has_file(each)]
    if not files:
        return ZERO
    if len(state.initial_state) > 1:
        raise RefusedError(
            f"{config.at(f'{scope}.initial_state[1]', scope)}: state '{state.input_name}' has "
            f"{len(state.initial_state)} initial states; it has one"
        )
    name = Path(files[0].data_file).name
    if name == ZERO:
        raise RefusedError(
            f"{config.at(f'{scope}.initial_state[0].data_file')}: a file named '{ZERO}' would be "
            "taken for zeros; give it another name"
        )
    return name


def assets(config: ConfigFile, contract: Contract, others: Mapping[str, bytes]) -> dict[str, bytes]:
    """Those files by name, each held to the state that begins with it."""
    inputs = {spec.name: spec for spec in contract.inputs}
    found: dict[str, bytes] = {}
    for position, state in enumerate(config.message.sequence_batching.state):
        for initial in filter(_has_file, state.initial_state):
            scope = f"sequence_batching[0].state[{position}].initial_state[0]"
            place = config.at(f"{scope}.data_file")
            spec = inputs[state.input_name]
            dtype = data_types.token(initial)
            if dtype and dtype != spec.dtype:
                raise RefusedError(
                    f"{config.at(f'{scope}.data_type')}: state '{spec.name}' begins as {dtype}, "
                    f"and is {spec.dtype} in the model"
                )
            name, content = state_file(config, initial.data_file, f"{scope}.data_file")
            needed = bytes_of_one_row(spec)
            if len(content) != needed:
                raise RefusedError(
                    f"{place}: file '{initial.data_file}' has {len(content)} bytes, and state "
                    f"'{spec.name}' has {needed}"
                )
            if {**others, **found}.get(name, content) != content:
                raise RefusedError(f"{place}: two different files are named '{name}'")
            found[name] = content
    return found


def _has_file(initial: Any) -> bool:
    return bool(initial.WhichOneof("state_data") == "data_file")
