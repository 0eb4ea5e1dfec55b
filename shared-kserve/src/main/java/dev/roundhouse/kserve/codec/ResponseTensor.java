package dev.roundhouse.kserve.codec;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import java.nio.ByteBuffer;
import java.util.Map;

/**
 * A named output as it travels.
 *
 * @param parameters that the server tells of it, in the order to be told
 * @param data from position to limit: row-major, little-endian; empty when it was written
 *     elsewhere, as the parameters say. Borrowed until the answer is written
 */
public record ResponseTensor(
    String name,
    DType dtype,
    Shape shape,
    Map<String, ParameterValue> parameters,
    ByteBuffer data) {}
