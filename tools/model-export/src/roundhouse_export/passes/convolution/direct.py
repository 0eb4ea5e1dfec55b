"""A convolution as XLA computes it, with the kernel stored as XLA reads it."""

import jax
from jax import lax

from roundhouse_export.passes.convolution.description import Convolution
from roundhouse_export.passes.convolution.lowering import Lowering, as_it_is

_SPACE = "0123456789"


def _compute(image: jax.Array, kernel: jax.Array, convolution: Convolution) -> jax.Array:
    space = _SPACE[: convolution.rank]
    return lax.conv_general_dilated(
        image,
        kernel,
        convolution.strides,
        convolution.padding,
        convolution.input_dilation,
        convolution.kernel_dilation,
        (f"N{space}C", f"{space}IO", f"N{space}C"),
        convolution.groups,
        precision=convolution.lax_precision,
        preferred_element_type=convolution.numpy_output_type,
    )


DIRECT = Lowering("direct", lambda _: True, as_it_is, _compute)
