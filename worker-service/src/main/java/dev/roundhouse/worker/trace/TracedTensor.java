package dev.roundhouse.worker.trace;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;

/**
 * A copy of one tensor, or of its first bytes.
 *
 * @param name as in the request or the model
 * @param bytes its own: dense, row-major, little-endian
 * @param byteSize of the whole tensor
 */
record TracedTensor(String name, DType dtype, Shape shape, byte[] bytes, long byteSize) {}
