"""Random numbers: the same request gets the same answer, so there are none."""

from roundhouse_export.onnx_graph.registry import refused

refused(
    "Bernoulli",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
    why="draws random numbers, and a program gives one answer to one request; make what it draws "
    "an input of the model",
)
