package dev.roundhouse.bundle.weights;

import dev.roundhouse.bundle.tensor.TensorType;

/**
 * One weight argument.
 *
 * @param type what {@code @main} takes, whatever order of axes the file is written in
 */
public record Weight(String name, TensorType type) {}
