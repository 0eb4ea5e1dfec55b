package dev.roundhouse.kserve.codec;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import java.nio.ByteBuffer;

/** A named input of a request, as long as dtype and shape say. */
public record WireInput(String name, DType dtype, Shape shape, Data data) {

  /** Where its bytes are: row-major, little-endian. */
  public sealed interface Data {}

  /**
   * In the request.
   *
   * @param bytes from position to limit, BYTES elements each with a 4-byte length; may be the
   *     memory of the message itself, so it is read-only to whoever gets it
   */
  public record Inline(ByteBuffer bytes) implements Data {}

  /** In memory that the client has registered. */
  public record Shared(RegionRange range) implements Data {}
}
