package dev.roundhouse.worker.transport.v1;

import dev.roundhouse.kserve.codec.MessageMemory;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.platform.rest.Body;
import java.nio.ByteBuffer;

/** A request's body over HTTP: inputs one behind the other. */
final class BodyInputs implements RawInputs {
  private final Body body;
  private int at;

  BodyInputs(Body body) {
    this.body = body;
  }

  @Override
  public ByteBuffer next(String input, long byteSize) {
    if (byteSize == UNKNOWN) {
      throw WireException.invalidArgument(
          "batch_byte_size of input '%s' is missing, and its strings have no fixed size; say how many bytes of the body are its"
              .formatted(input));
    }
    int left = body.length() - at;
    if (byteSize > left) {
      throw WireException.invalidArgument(
          "input '%s' has %d bytes by batch_byte_size, dims and batch_size, and the body has %d left for it"
              .formatted(input, byteSize, left));
    }
    ByteBuffer bytes = body.slice(at, (int) byteSize);
    at += (int) byteSize;
    return bytes;
  }

  @Override
  public MessageMemory memory() {
    return MessageMemory.COLLECTED;
  }

  @Override
  public void skip(String input) {}

  @Override
  public void requireEnd() {
    if (at < body.length()) {
      throw WireException.invalidArgument(
          "the body has %d bytes and the inputs that are not in shared memory %d; send no others"
              .formatted(body.length(), at));
    }
  }
}
