"""One lowering for several platforms, or a refusal that says where they part."""

from collections.abc import Sequence

import jax
from jax import export
from jax.interpreters.mlir import make_ir_context
from jax.stages import Wrapped
from jaxlib.mlir import ir
from jaxlib.mlir.passmanager import PassManager

from roundhouse_export.contract import KNOWN_PLATFORMS
from roundhouse_export.custom_calls import callback_refusal, require_served
from roundhouse_export.plain_lowerings import PLAIN_LOWERINGS

KNOWN = KNOWN_PLATFORMS
"""JAX takes any name, and lowers for one that it does not know as for none in particular."""


def lower_for_all(
    program: str,
    function: Wrapped,
    arguments: Sequence[jax.ShapeDtypeStruct],
    platforms: Sequence[str],
) -> tuple[Sequence[jax.core.ShapedArray], str]:
    """Returns the output types and the module, as text, of a jitted function.

    JAX's own export for several platforms gives ``@main`` a platform index as its first argument
    and writes operations once for each platform, inside a ``case`` on it, even where they are the
    same. Nobody feeds such an argument to a served program, and a branch of the other platform is
    compiled too. So each platform is lowered alone, and what comes out must be one program.
    """
    if not platforms or len(set(platforms)) != len(platforms) or set(platforms) - set(KNOWN):
        raise ValueError(
            f"{program}: platforms are {list(platforms)}; name one or more of {KNOWN}, each once"
        )
    lowered = {platform: _lower(program, function, arguments, platform) for platform in platforms}
    first = platforms[0]
    avals, module_text = lowered[first]
    plain = _plain_text(module_text)
    for platform, (_, other_text) in lowered.items():
        other = _plain_text(other_text)
        if other != plain:
            ours, theirs = _first_difference(plain, other)
            raise ValueError(
                f"{program}: JAX makes another program for {platform} than for {first}: "
                f"'{ours}' there is '{theirs}'. Write the function without what depends on the "
                f"platform, or export for one platform: platforms=('{first}',) is a program that "
                "runs on the others too, as long as it has no custom call of that platform"
            )
    return avals, module_text


def without_locations(module_text: str) -> ir.Module:
    """Parses a module in the present context; locations name files of the exporting machine."""
    module = ir.Module.parse(module_text)
    PassManager.parse("builtin.module(strip-debuginfo)").run(module.operation)
    return module


def _lower(
    program: str,
    function: Wrapped,
    arguments: Sequence[jax.ShapeDtypeStruct],
    platform: str,
) -> tuple[Sequence[jax.core.ShapedArray], str]:
    try:
        exported = export.export(
            function, platforms=(platform,), _override_lowering_rules=PLAIN_LOWERINGS
        )(*arguments)
    except NotImplementedError as missing:
        if "host_callbacks" in str(missing):
            raise callback_refusal(program, function.trace(*arguments).jaxpr) from missing
        reason = str(missing).strip().splitlines()[0]
        raise ValueError(f"{program}: JAX cannot write it for {platform}: {reason}") from missing
    except ValueError as refusal:
        if "is not supported by dot_general on CPU" not in str(refusal):
            raise
        raise ValueError(
            f"{program}: {refusal}. Export it for platforms=('cuda',): a worker on a device "
            "without TF32 computes TF32 algorithms in f32"
        ) from refusal
    module_text = exported.mlir_module()
    require_served(program, module_text)
    return exported.out_avals, module_text


def _plain_text(module_text: str) -> str:
    with make_ir_context():
        return str(without_locations(module_text).operation.get_asm(enable_debug_info=False))


def _first_difference(ours: str, theirs: str) -> tuple[str, str]:
    ours_lines, theirs_lines = ours.splitlines(), theirs.splitlines()
    for left, right in zip(ours_lines, theirs_lines, strict=False):
        if left != right:
            return left.strip(), right.strip()
    shorter = min(len(ours_lines), len(theirs_lines))
    rest = [
        lines[shorter].strip() if len(lines) > shorter else "the end"
        for lines in (ours_lines, theirs_lines)
    ]
    return rest[0], rest[1]
