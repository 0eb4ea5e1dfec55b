package dev.roundhouse.benchmarks.client;

import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Messages of gRPC: one byte that says whether it is compressed, four of length, and the message.
 */
final class Exchange {
  static final int PREFIX = 5;

  private Exchange() {}

  static ByteBuffer framed(MessageLite message) {
    byte[] bytes = message.toByteArray();
    return ByteBuffer.allocateDirect(PREFIX + bytes.length)
        .put((byte) 0)
        .putInt(bytes.length)
        .put(bytes)
        .flip();
  }

  /**
   * What was framed.
   *
   * @throws IOException when it is not one whole message that is not compressed
   */
  static ByteString unframed(ByteString answer) throws IOException {
    if (answer.isEmpty()) {
      throw new IOException("the server ended the call without an answer; its log says why");
    }
    ByteBuffer prefix = answer.asReadOnlyByteBuffer();
    if (answer.size() < PREFIX || prefix.get() != 0 || prefix.getInt() != answer.size() - PREFIX) {
      throw new IOException("%d bytes that are not one message".formatted(answer.size()));
    }
    return answer.substring(PREFIX);
  }

  /** Fails unless the outputs are these bytes. */
  static void check(Iterable<ByteString> outputs, ByteString wanted) throws IOException {
    ByteString seen = ByteString.copyFrom(outputs);
    if (!seen.equals(wanted)) {
      throw new IOException(
          "the first answer has %d bytes of outputs that are not the %d wanted"
              .formatted(seen.size(), wanted.size()));
    }
  }
}
