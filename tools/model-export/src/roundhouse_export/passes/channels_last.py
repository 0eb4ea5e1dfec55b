"""What follows a convolution or pooling is computed with channels last, as those are.

Sources with channels first turn each result back. XLA drops most of these transposes, but sums and
maxima over such a view it takes against the order in memory: a GELU and a maximum after 1 x 508 x
512 channels took 0.9 ms, with channels last 0.1. So transposes move down, past all that does not
care, until another one undoes them.
"""

from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from roundhouse_export.passes.axis_attributes import integers
from roundhouse_export.passes.dependence import known_values
from roundhouse_export.passes.main_function import erase_unused, main_block, operations
from roundhouse_export.passes.order import Order, inverse

_BY_ELEMENT = frozenset(
    f"stablehlo.{name}"
    for name in [
        "abs",
        "add",
        "and",
        "atan2",
        "cbrt",
        "ceil",
        "clamp",
        "compare",
        "convert",
        "cosine",
        "divide",
        "exponential",
        "exponential_minus_one",
        "floor",
        "is_finite",
        "log",
        "log_plus_one",
        "logistic",
        "maximum",
        "minimum",
        "multiply",
        "negate",
        "not",
        "or",
        "power",
        "remainder",
        "round_nearest_afz",
        "round_nearest_even",
        "rsqrt",
        "select",
        "sign",
        "sine",
        "sqrt",
        "subtract",
        "tan",
        "tanh",
        "xor",
    ]
)
_BY_AXIS = {
    "stablehlo.pad": ("edge_padding_low", "edge_padding_high", "interior_padding"),
    "stablehlo.slice": ("start_indices", "limit_indices", "strides"),
}


def move_transposes_down(module: ir.Module, inputs: int) -> None:
    """Changes the module in place; ``inputs`` leading arguments of ``@main`` are no weights."""
    with module.context, ir.Location.unknown():
        _Mover(module, inputs).run()


class _Mover:
    """One walk in program order. ``moved`` has orders of transposed values with channels last."""

    def __init__(self, module: ir.Module, inputs: int) -> None:
        self._block = main_block(module)
        self._known = known_values(self._block, inputs)
        self._moved: dict[ir.Value, Order] = {}

    def run(self) -> None:
        for operation in operations(self._block):
            if operation.name == "stablehlo.transpose" and self._starts(operation):
                self._moved[operation.results[0]] = integers(operation, "permutation")
                continue
            orders = {self._moved[each] for each in operation.operands if each in self._moved}
            if len(orders) == 1:
                self._pass(operation, orders.pop())
        unused = ("transpose", "constant", "broadcast_in_dim", "iota")
        names = {f"stablehlo.{name}" for name in unused}
        erase_unused([each for each in operations(self._block) if each.name in names])

    def _starts(self, operation: ir.Operation) -> bool:
        """True for one that takes the last axis, of channels, to the second place."""
        order = integers(operation, "permutation")
        last = len(order) - 1
        computed = operation.results[0] not in self._known
        return computed and len(order) > 2 and order == (0, last, *range(1, last))

    def _pass(self, operation: ir.Operation, order: Order) -> None:
        """Makes the operation work on the values before the transposes, if it can."""
        match operation.name:
            case name if name in _BY_ELEMENT:
                self._by_element(operation, order)
            case "stablehlo.pad" | "stablehlo.slice":
                self._by_axis(operation, order)
            case "stablehlo.concatenate":
                self._concatenate(operation, order)
            case "stablehlo.reduce":
                self._reduce(operation, order)
            case "stablehlo.transpose":
                self._transpose(operation, order)
            case "stablehlo.reshape":
                self._reshape(operation, order)

    def _by_element(self, operation: ir.Operation, order: Order) -> None:
        if self._take(operation, order, [each for each in operation.operands if _rank(each)]):
            self._turn_back(operation, order)

    def _by_axis(self, operation: ir.Operation, order: Order) -> None:
        if self._take(operation, order, [operation.operands[0]]):
            for name in _BY_AXIS[operation.name]:
                values = integers(operation, name)
                moved = [values[axis] for axis in inverse(order)]
                operation.attributes[name] = ir.DenseI64ArrayAttr.get(moved)
            self._turn_back(operation, order)

    def _concatenate(self, operation: ir.Operation, order: Order) -> None:
        if self._take(operation, order, list(operation.operands)):
            axis = ir.IntegerAttr(operation.attributes["dimension"])
            moved = ir.IntegerAttr.get(axis.type, order[axis.value])
            operation.attributes["dimension"] = moved
            self._turn_back(operation, order)

    def _reduce(self, operation: ir.Operation, order: Order) -> None:
        several = len(operation.operands) // 2
        if not self._take(operation, order, list(operation.operands)[:several]):
            return
        axes = [order[axis] for axis in integers(operation, "dimensions")]
        operation.attributes["dimensions"] = ir.DenseI64ArrayAttr.get(sorted(axes))
        left = [axis for axis in range(len(order)) if axis not in axes]
        self._turn_back(operation, tuple(left.index(axis) for axis in order if axis in left))

    def _transpose(self, operation: ir.Operation, order: Order) -> None:
        both = tuple(order[axis] for axis in integers(operation, "permutation"))
        (moved,) = operation.operands
        source = moved.owner.operands[0]
        if both == tuple(range(len(both))):
            operation.results[0].replace_all_uses_with(source)
            return
        operation.operands[0] = source
        operation.attributes["permutation"] = ir.DenseI64ArrayAttr.get(list(both))
        self._moved[operation.results[0]] = both

    def _reshape(self, operation: ir.Operation, order: Order) -> None:
        """Axes of size 1 may come and go; they are put first."""
        shape = list(operation.results[0].type.shape)
        before = list(operation.operands[0].type.shape)
        if [size for size in shape if size != 1] != [size for size in before if size != 1]:
            return
        long = [axis for axis, size in enumerate(shape) if size != 1]
        places = [order[axis] for axis, size in enumerate(before) if size != 1]
        short = [axis for axis, size in enumerate(shape) if size == 1]
        axes = short + [axis for _, axis in sorted(zip(places, long, strict=True))]
        operation.operands[0] = operation.operands[0].owner.operands[0]
        self._turn_back(operation, inverse(axes))

    def _take(self, operation: ir.Operation, order: Order, values: Sequence[ir.Value]) -> bool:
        """Gives the operation values in the order of before, of all of ``values`` or of none."""
        found = [self._before(value, order, operation) for value in values]
        if any(each is None for each in found):
            return False
        for place, value in enumerate(operation.operands):
            if value in values:
                operation.operands[place] = found[values.index(value)]
        return True

    def _before(self, value: ir.Value, order: Order, user: ir.Operation) -> ir.Value | None:
        """Returns what becomes the value when it is transposed; None where that costs something."""
        back = inverse(order)
        if value in self._known:
            # Folding makes weights lie so; what is made of constants XLA computes.
            with ir.InsertionPoint(user):
                moved = self._repeated(value, order) or stablehlo.transpose(value, list(back))
            self._known[moved] = self._known[value]
            return moved
        if isinstance(value, ir.BlockArgument):
            return None
        source = value.owner
        if source.name == "stablehlo.transpose" and integers(source, "permutation") == order:
            return source.operands[0]
        with ir.InsertionPoint(user):
            return self._repeated(value, order)

    def _repeated(self, value: ir.Value, order: Order) -> ir.Value | None:
        """Writes a value that one element or one axis makes in the order of before."""
        if isinstance(value, ir.BlockArgument):
            return None
        back = inverse(order)
        wanted = _type(value, [value.type.shape[axis] for axis in back])
        source = value.owner
        match source.name:
            case "stablehlo.constant":
                held = ir.DenseElementsAttr(source.attributes["value"])
                if not held.is_splat:
                    return None
                return stablehlo.constant(
                    ir.DenseElementsAttr.get_splat(wanted, held.get_splat_value())
                )
            case "stablehlo.broadcast_in_dim":
                axes = [order[axis] for axis in integers(source, "broadcast_dimensions")]
                return stablehlo.broadcast_in_dim(wanted, source.operands[0], axes)
            case "stablehlo.iota":
                axis = ir.IntegerAttr(source.attributes["iota_dimension"]).value
                return stablehlo.iota(wanted, order[axis])
        return None

    def _turn_back(self, operation: ir.Operation, order: Order) -> None:
        """Types the results as they lie now, and transposes them for those who read them."""
        back = inverse(order)
        for result in operation.results:
            result.set_type(_type(result, [result.type.shape[axis] for axis in back]))
            if back == order == tuple(range(len(order))):
                continue
            with ir.InsertionPoint.after(operation):
                turned = stablehlo.transpose(result, list(order))
            result.replace_all_uses_except(turned, turned.owner.operation)
            self._moved[turned] = order


def _rank(value: ir.Value) -> int:
    return len(value.type.shape)


def _type(value: ir.Value, shape: Sequence[int]) -> ir.Type:
    return ir.RankedTensorType.get(list(shape), value.type.element_type)
