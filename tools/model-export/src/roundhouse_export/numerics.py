"""How exactly products of f32 are computed, written into a module before it is encoded."""

from enum import Enum

from jaxlib.mlir import ir

_PRODUCTS = {
    "stablehlo.dot_general",
    "stablehlo.dot",
    "stablehlo.convolution",
    "stablehlo.dynamic_conv",
}
_F32_ALGORITHM = (
    "#stablehlo.dot_algorithm<lhs_precision_type = f32, rhs_precision_type = f32, "
    "accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, "
    "num_primitive_operations = 1, allow_imprecise_accumulation = false>"
)
_HIGHEST = "[#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]"


class Numerics(Enum):
    """What a program file says of products of f32; the worker's policy may still change it."""

    AS_WRITTEN = "as the function says: a device with TF32 may use it where nothing is said"
    F32 = "in f32 on every device: TF32 algorithms become f32, all else gets HIGHEST precision"


def apply_numerics(module: ir.Module, numerics: Numerics) -> None:
    """Changes the module in place."""
    match numerics:
        case Numerics.AS_WRITTEN:
            return
        case Numerics.F32:
            with module.context:
                module.operation.walk(_compute_in_f32)


def _compute_in_f32(operation: ir.Operation) -> ir.WalkResult:
    if operation.name in _PRODUCTS:
        attributes = operation.attributes
        if "algorithm" not in attributes:
            attributes["precision_config"] = ir.Attribute.parse(_HIGHEST)
        elif "tf32" in str(attributes["algorithm"]):
            attributes["algorithm"] = ir.Attribute.parse(_F32_ALGORITHM)
    return ir.WalkResult.ADVANCE
