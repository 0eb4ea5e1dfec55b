package dev.roundhouse.platform.payload;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import org.jspecify.annotations.Nullable;

/**
 * A tensor of an event.
 *
 * @param data its own copy: row-major, little-endian, strings as on the wire; null when it was left
 *     out
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
public record PayloadTensor(String name, DType dtype, Shape shape, byte @Nullable [] data) {
  int byteSize() {
    return data == null ? 0 : data.length;
  }
}
