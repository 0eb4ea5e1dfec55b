package dev.roundhouse.bundle.weights;

import dev.roundhouse.bundle.tensor.TensorType;

/**
 * A tensor as the file's header describes it.
 *
 * @param type as written in the file
 * @param begin first byte, counted from the start of the data block
 * @param end one past the last byte
 */
record FileTensor(String name, TensorType type, long begin, long end) {}
