"""How convolutions and pools lay their windows: padding, strides, how many there are."""

from collections.abc import Sequence
from dataclasses import dataclass

from roundhouse_export.onnx_graph.registry import Node


@dataclass(frozen=True)
class Windows:
    """One entry per spatial axis; ``pads`` are before and after, ``outputs`` counts windows."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]
    outputs: tuple[int, ...]

    def reach(self, extents: Sequence[int]) -> tuple[tuple[int, int], ...]:
        """Returns the padding that makes exactly ``outputs`` windows; it may cut at the end."""
        return tuple(
            (before, (count - 1) * stride + (size - 1) * dilation + 1 - extent - before)
            for (before, _), count, stride, size, dilation, extent in zip(
                self.pads,
                self.outputs,
                self.strides,
                self.kernel,
                self.dilations,
                extents,
                strict=True,
            )
        )


def windows_of(node: Node, extents: Sequence[int], kernel: Sequence[int]) -> Windows:
    """Reads the attributes that convolutions and pools have in common."""
    rank = len(extents)
    strides = tuple(node.get("strides") or (1,) * rank)
    dilations = tuple(node.get("dilations") or (1,) * rank)
    given = node.get("pads") or (0,) * (2 * rank)
    ceil = bool(node.get("ceil_mode", 0))
    auto = node.get("auto_pad", "NOTSET")
    pads, outputs = [], []
    for axis, extent in enumerate(extents):
        effective = (kernel[axis] - 1) * dilations[axis] + 1
        before, after = given[axis], given[rank + axis]
        if auto in ("SAME_UPPER", "SAME_LOWER"):
            count = -(-extent // strides[axis])
            total = max((count - 1) * strides[axis] + effective - extent, 0)
            less, more = total // 2, total - total // 2
            before, after = (less, more) if auto == "SAME_UPPER" else (more, less)
        elif auto == "VALID":
            before = after = 0
        room = extent + before + after - effective
        count = (-(-room // strides[axis]) if ceil else room // strides[axis]) + 1
        if ceil and (count - 1) * strides[axis] >= extent + before:
            count -= 1  # a window that starts in the padding after the end is none
        pads.append((before, after))
        outputs.append(count)
    return Windows(tuple(kernel), strides, dilations, tuple(pads), tuple(outputs))
