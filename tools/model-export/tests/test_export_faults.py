"""What can be wrong with what a person exports: each ends in one clear line, or works."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import yaml
from bundles import CONTRACT as BUNDLE_CONTRACT
from bundles import small_bundle

from roundhouse_export import weights
from roundhouse_export.bundle import MANIFEST, write_bundle
from roundhouse_export.bundle_v2 import write_bundle_v2
from roundhouse_export.contract import Contract, ProgramKey, TensorSpec
from roundhouse_export.custom_calls import SERVED
from roundhouse_export.jax_program import Encoding, export_programs
from roundhouse_export.program_runner import run_program

CONTRACT = Contract(
    inputs=(TensorSpec("x", "f32", ("n", 3)),),
    outputs=(TensorSpec("y", "f32", ("n", 2)),),
    batch_sizes=(2,),
)
WEIGHTS = {"w": np.arange(6, dtype=np.float32).reshape(3, 2)}
SQUARE = Contract(
    inputs=(TensorSpec("a", "f32", (4, 4)), TensorSpec("b", "f32", (4, 2))),
    outputs=(TensorSpec("y", "f32", (4, 4)),),
)


def exported(forward: Callable[..., Any], contract: Contract = CONTRACT, **held: Any) -> bytes:
    programs = export_programs("net", forward, contract, held or WEIGHTS, Encoding.ARTIFACT)
    return next(iter(programs.values()))


def refusal(forward: Callable[..., Any], contract: Contract = CONTRACT, **held: Any) -> str:
    with pytest.raises(ValueError) as told:
        exported(forward, contract, **held)
    assert "\n" not in str(told.value)
    return str(told.value)


def times(inputs: Any, held: Any) -> Any:
    return {"y": inputs["x"] @ held["w"]}


def test_should_say_how_trees_are_exported_when_weights_are_nested() -> None:
    told = refusal(times, layer={"w": WEIGHTS["w"]})
    assert told.startswith("weight 'layer' is a dict, not an array; a tree of parameters")


def test_should_name_the_weight_when_it_is_no_array() -> None:
    assert refusal(times, w=3.5).startswith("weight 'w' is a float, not an array")


def test_should_name_the_weight_when_bundles_have_no_such_dtype() -> None:
    assert refusal(times, w=np.ones((3, 2), np.complex64)).startswith("weight 'w': numpy type comp")


def test_should_ask_for_a_dict_when_an_array_is_returned() -> None:
    told = refusal(lambda inputs, held: inputs["x"] @ held["w"])
    assert told == (
        "model.b2.mlir: the function returns an array float32[2, 2], not its outputs by name; "
        "return a dict with the keys ['y']"
    )


def test_should_name_both_when_an_output_has_another_name() -> None:
    told = refusal(lambda inputs, held: {"z": inputs["x"] @ held["w"]})
    assert "returns outputs ['z'], and the contract also names ['y']" in told


@pytest.mark.parametrize("axis", [None, 1.5, True])
def test_should_say_what_an_axis_is(axis: Any) -> None:
    with pytest.raises(ValueError, match=f"tensor 'x' axis 0 is {axis}; .* 'n' for the batch"):
        TensorSpec("x", "f32", (axis, 3))


def test_should_name_wide_weights_when_they_widen_an_output() -> None:
    told = refusal(times, w=WEIGHTS["w"].astype(np.float64))
    assert "output 'y' is float64[2, 2], the contract says float32[2, 2]" in told
    assert told.endswith("weights ['w'] have 64 bits: cast them to 32")


def test_should_take_wide_weights_as_wide_as_their_file_has_them() -> None:
    def picks(inputs: Any, held: Any) -> Any:
        return {"y": inputs["x"][:, held["ids"]]}

    ids = np.array([2, 0])
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    stored = weights.decode(weights.encode({"ids": ids}))
    (got,) = run_program(exported(picks, ids=ids), [x, *stored.values()])
    np.testing.assert_array_equal(got, x[:, ids])


def test_should_refuse_a_weight_with_the_name_of_the_metadata() -> None:
    with pytest.raises(ValueError, match="weight '__metadata__': safetensors keeps that name"):
        weights.encode({"__metadata__": np.ones(2, np.float32)})


def spd(a: Any) -> Any:
    return a @ a.T + 4 * jnp.eye(4)


PLAIN: dict[str, Callable[..., Any]] = {
    "cholesky": lambda a, b: jnp.linalg.cholesky(spd(a)),
    "inv": lambda a, b: jnp.linalg.inv(spd(a)),
    "solve": lambda a, b: jnp.linalg.solve(spd(a), jnp.tile(b, (1, 2))),
    "solve_triangular": lambda a, b: jax.scipy.linalg.solve_triangular(
        spd(a), jnp.tile(b, (1, 2)), trans=1, lower=False
    ),
    "lu": lambda a, b: jax.scipy.linalg.lu(a)[2],
    "det": lambda a, b: jnp.linalg.det(a) * jnp.ones((4, 4)),
    "slogdet": lambda a, b: jnp.linalg.slogdet(a)[1] * jnp.ones((4, 4)),
    "expm": lambda a, b: jax.scipy.linalg.expm(a),
    "vmap(inv)": lambda a, b: jax.vmap(jnp.linalg.inv)(jnp.stack([spd(a), spd(2 * a)]))[1],
    "random": lambda a, b: a + jax.random.normal(jax.random.key(3), (4, 4)),
}


@pytest.mark.parametrize("name", PLAIN)
def test_should_export_as_plain_operations_what_has_such(name: str) -> None:
    rng = np.random.default_rng(11)
    a, b = rng.standard_normal((4, 4), np.float32), rng.standard_normal((4, 2), np.float32)
    code = exported(lambda i, _: {"y": PLAIN[name](i["a"], i["b"])}, SQUARE)
    assert b"lapack" not in code
    (got,) = run_program(code, [a, b, *WEIGHTS.values()])
    np.testing.assert_allclose(got, jax.jit(PLAIN[name])(a, b), rtol=1e-4, atol=1e-4)


REFUSED: dict[str, tuple[str, Callable[..., Any]]] = {
    "qr": ("a QR decomposition", lambda a: jnp.linalg.qr(a)[0]),
    "svd": ("a singular value decomposition", lambda a: jnp.linalg.svd(a)[0]),
    "eigh": ("eigenvalues of a symmetric matrix", lambda a: jnp.linalg.eigh(a)[1]),
    "pinv": ("a singular value decomposition", lambda a: jnp.linalg.pinv(a)),
    "debug.print": ("a function of Python", lambda a: (jax.debug.print("{}", a), a)[1]),
    "callback": (
        "a function of Python",
        lambda a: jax.pure_callback(np.sin, jax.ShapeDtypeStruct((4, 4), "float32"), a),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_should_refuse_code_outside_the_program_by_name_and_line(name: str) -> None:
    meaning, function = REFUSED[name]

    def forward(inputs: Any, held: Any) -> Any:
        return {"y": function(inputs["a"])}

    told = refusal(forward, SQUARE)
    line = forward.__code__.co_firstlineno + 1
    lines = (function.__code__.co_firstlineno, line)
    assert any(told.startswith(f"model.mlir: {__file__}:{each}: {meaning} ('") for each in lines)
    assert told.endswith("compute it before the export, or write it in other operations")


def test_should_know_the_custom_calls_that_the_server_knows() -> None:
    artifact = "model-bundle/src/main/java/dev/roundhouse/bundle/artifact/CustomCalls.java"
    code = (Path(__file__).parents[3] / artifact).read_text()
    sets = code[code.index("TOP_K =") : code.index("private CustomCalls()")]
    assert set(re.findall(r'"([^"]+)"', sets)) == SERVED


def test_should_refuse_eigenvalues_that_one_platform_cannot_compute() -> None:
    told = refusal(lambda i, _: {"y": jnp.linalg.eig(i["a"])[1].real}, SQUARE)
    assert "eigenvalues of a matrix" in told


SERVING = {
    "weight": 2.5,
    "residency": "pinned_system",
    "max_queue_delay": "5ms",
    "queue": {"max_size": 16, "default_timeout": "2s", "timeout_action": "delay"},
    "priorities": {"levels": 3, "default": 2},
}
STATE_CONTRACT = Contract(
    inputs=(TensorSpec("start", "bool", (1,)), TensorSpec("acc_in", "f32", (4,))),
    outputs=(TensorSpec("acc_out", "f32", (4,)), TensorSpec("other", "i32", (4,))),
)
SEQUENCE = {
    "idle": "60s",
    "controls": {"start": "start"},
    "state": [{"input": "acc_in", "output": "acc_out", "initial": "zero"}],
}


def test_should_write_serving_before_the_files(tmp_path: Path) -> None:
    write_bundle(small_bundle(serving=SERVING), tmp_path / "m")
    manifest = yaml.safe_load((tmp_path / "m" / MANIFEST).read_bytes())
    assert manifest["serving"] == SERVING
    keys = list(manifest)
    assert keys[keys.index("variants") + 1 : keys.index("files") + 1] == ["serving", "files"]


def test_should_write_no_serving_into_format_2(tmp_path: Path) -> None:
    outputs = (TensorSpec("scores", "f32", ("n", 2)),)
    bundle = small_bundle(contract=replace(BUNDLE_CONTRACT, outputs=outputs), serving={"weight": 2})
    with pytest.raises(ValueError, match=r"format 2\.0 has no section 'serving'"):
        write_bundle_v2(bundle, tmp_path / "m")


def stateful(sequence: dict[str, Any], assets: dict[str, bytes] | None = None) -> Any:
    return small_bundle(
        contract=STATE_CONTRACT,
        programs={ProgramKey(None, None): b""},
        assets=assets or {},
        serving={"sequence": sequence},
    )


def test_should_take_a_sequence_whose_tensors_are_the_models() -> None:
    assert stateful(SEQUENCE).serving["sequence"] == SEQUENCE


def test_should_take_an_asset_that_state_begins_with() -> None:
    begun = {"state": [{**SEQUENCE["state"][0], "initial": "acc.bin"}]}
    assert stateful(begun, {"acc.bin": bytes(16)}).serving["sequence"] == begun
    with pytest.raises(ValueError, match=r"'acc\.bin' has 15 bytes, and 'acc_in' has 16"):
        stateful(begun, {"acc.bin": bytes(15)})
    with pytest.raises(ValueError, match=r"initial is 'acc\.bin'; it is one of zero"):
        stateful(begun)


@pytest.mark.parametrize(
    ("sequence", "message"),
    [
        ({"idle": "0s"}, "serving.sequence.idle is zero"),
        ({"controls": {"end": "stop"}}, "controls.end is 'stop'; it is one of start, acc_in"),
        ({"controls": {"start": "start", "end": "start"}}, "'start' is fed twice"),
        ({"state": [{"input": "acc_in"}]}, r"state\[0\].output is missing"),
        ({"state": [{"input": "acc_in", "output": "other"}]}, "'other' differs in type"),
        ({"state": {"input": "acc_in"}}, "it is a list of input and output"),
    ],
)
def test_should_refuse_a_sequence_that_the_server_would(
    sequence: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        stateful(sequence)


@pytest.mark.parametrize(
    ("serving", "message"),
    [
        ({"wieght": 1}, "serving.wieght is unknown; keys are weight, residency"),
        ({"weight": 0}, "serving.weight is 0; it is a number from 0.001 to 1000000"),
        ({"weight": True}, "serving.weight is True"),
        ({"residency": "pinned"}, "it is one of unpinned, pinned_system, pinned_device"),
        ({"max_queue_delay": 5}, "it is a duration such as 20ms"),
        ({"max_queue_delay": "2m"}, "at most 60 s are held for"),
        ({"queue": {"max_size": -1}}, "serving.queue.max_size is -1"),
        ({"queue": {"timeout_action": "wait"}}, "it is one of reject, delay"),
        ({"queue": {"allow_timeout_override": "no"}}, "it is true or false"),
        ({"queue": 3}, "serving.queue is 3; it has the keys max_size"),
        ({"priorities": {"levels": 2}}, "serving.priorities.default is missing"),
        ({"priorities": {"levels": 2, "default": 3}}, "default is 3, above the 2 levels"),
    ],
)
def test_should_refuse_serving_that_the_server_would(serving: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small_bundle(serving=serving)
