package dev.roundhouse.client.stream;

import dev.roundhouse.kserve.tstream.StreamSpec;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * What became of one message.
 *
 * @param sequence its number
 * @param status gRPC's number; 0 when there are outputs
 * @param text why there are none
 * @param spec of the outputs
 * @param payload their bytes, little-endian; empty when there are none, or they are in shared
 *     memory
 */
public record StreamResult(
    long sequence, int status, String text, StreamSpec spec, ByteBuffer payload) {

  public boolean isOk() {
    return status == 0;
  }

  /**
   * The bytes of an output, by its place in the spec.
   *
   * @throws IllegalStateException when the message failed, with why
   */
  public ByteBuffer output(int index) {
    if (!isOk()) {
      throw new IllegalStateException("message %d: %s".formatted(sequence, text));
    }
    int bytes = Math.toIntExact(spec.outputs().get(index).byteSize());
    return payload.slice(spec.outputOffset(index), bytes).order(ByteOrder.LITTLE_ENDIAN);
  }
}
