package dev.roundhouse.kserve.codec;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import java.nio.ByteBuffer;

/**
 * A named tensor as it travels.
 *
 * @param data from position to limit: row-major, little-endian, exactly as long as dtype and shape
 *     say; BYTES elements each with a 4-byte length. May be the memory of the message itself, so it
 *     is read-only to whoever gets it
 */
public record WireTensor(String name, DType dtype, Shape shape, ByteBuffer data) {}
