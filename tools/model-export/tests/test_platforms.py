"""One program for several platforms, and what is refused because there is none."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import yaml
from jax import export, lax

from roundhouse_export import samples
from roundhouse_export.contract import Contract, TensorSpec
from roundhouse_export.jax_program import PLATFORMS, Arrays, Encoding, Forward, export_programs
from roundhouse_export.program_runner import run_program

CONTRACT = Contract(
    inputs=(TensorSpec("x", "f32", (4, 4)),), outputs=(TensorSpec("y", "f32", (4, 4)),)
)
WEIGHTS = {"w": np.arange(16, dtype=np.float32).reshape(4, 4)}


def same(inputs: Arrays, weights: Arrays) -> Arrays:
    return {"y": inputs["x"] @ weights["w"]}


def different(inputs: Arrays, weights: Arrays) -> Arrays:
    return {
        "y": lax.platform_dependent(
            inputs["x"], weights["w"], cpu=lambda x, w: x @ w, cuda=lambda x, w: jnp.sin(x) @ w
        )
    }


def tf32(inputs: Arrays, weights: Arrays) -> Arrays:
    algorithm = lax.DotAlgorithmPreset.TF32_TF32_F32
    return {"y": jnp.matmul(inputs["x"], weights["w"], precision=algorithm)}


def program(forward: Forward, platforms: tuple[str, ...], encoding: Encoding) -> bytes:
    (code,) = export_programs("net", forward, CONTRACT, WEIGHTS, encoding, platforms).values()
    return code


def test_should_know_what_jax_does_when_it_exports_for_two_platforms_itself() -> None:
    # The reason for lower_for_all; when this fails, read it again.
    struct = jax.ShapeDtypeStruct((4, 4), np.float32)
    text = export.export(jax.jit(lambda x: x @ x), platforms=PLATFORMS)(struct).mlir_module()
    assert '%arg0: tensor<i32> {jax.global_constant = "_platform_index"}' in text
    assert text.count("stablehlo.dot_general") == 2


@pytest.mark.parametrize("encoding", list(Encoding))
def test_should_be_the_program_of_each_platform_when_for_both(encoding: Encoding) -> None:
    both = program(same, ("cpu", "cuda"), encoding)
    assert both == program(same, ("cpu",), encoding)
    assert both == program(same, ("cuda",), encoding)
    (result,) = run_program(both, [np.eye(4, dtype=np.float32), WEIGHTS["w"]])
    np.testing.assert_array_equal(result, WEIGHTS["w"])


def test_should_take_inputs_and_weights_only_when_for_both() -> None:
    text = program(same, ("cpu", "cuda"), Encoding.TEXT).decode()
    signature = next(line for line in text.splitlines() if "@main" in line)
    assert signature.count("%arg") == 2
    assert "platform_index" not in text


def test_should_say_where_they_part_when_platforms_lower_differently() -> None:
    with pytest.raises(ValueError, match=r"model.mlir: .* for cuda than for cpu: .*cpu',\)"):
        program(different, ("cpu", "cuda"), Encoding.ARTIFACT)


def test_should_hold_that_platforms_lowering_when_exported_for_one() -> None:
    ones = np.ones((4, 4), np.float32)
    for platform, wanted in (
        ("cpu", ones @ WEIGHTS["w"]),
        ("cuda", np.sin(ones) @ WEIGHTS["w"]),
    ):
        code = program(different, (platform,), Encoding.ARTIFACT)
        (result,) = run_program(code, [ones, WEIGHTS["w"]])
        np.testing.assert_allclose(result, wanted, rtol=1e-6)


def test_should_name_the_fix_when_cpu_has_no_such_algorithm() -> None:
    with pytest.raises(ValueError, match=r"TF32_TF32_F32.*platforms=\('cuda',\)"):
        program(tf32, ("cpu", "cuda"), Encoding.ARTIFACT)
    assert b"tf32" in program(tf32, ("cuda",), Encoding.TEXT)


@pytest.mark.parametrize("platforms", [(), ("cpu", "cpu"), ("abacus",)])
def test_should_refuse_when_platforms_are_none_or_unknown(platforms: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="cpu"):
        program(same, platforms, Encoding.TEXT)


def test_should_stand_in_the_manifest_when_a_sample_is_built(tmp_path) -> None:
    samples.get("simple").build(tmp_path / "simple", platforms=("cuda", "cpu"))
    manifest = yaml.safe_load((tmp_path / "simple" / "manifest.yaml").read_bytes())
    assert manifest["provenance"]["platforms"] == "cuda, cpu"
