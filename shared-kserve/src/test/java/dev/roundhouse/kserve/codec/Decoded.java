package dev.roundhouse.kserve.codec;

import dev.roundhouse.kserve.proto.ModelInferRequest;
import java.nio.ByteBuffer;

/** Requests after all that is done to them before the engine sees them. */
final class Decoded {
  private Decoded() {}

  static WireRequest of(ModelInferRequest request) {
    return of(request.toByteArray());
  }

  static WireRequest of(byte[] message) {
    try {
      return RequestCheck.check(RequestParser.read(ByteBuffer.wrap(message)));
    } catch (MalformedMessageException e) {
      throw new AssertionError("not a message", e);
    }
  }

  /** The bytes of an input that came in its request. */
  static ByteBuffer inline(WireInput input) {
    return ((WireInput.Inline) input.data()).bytes();
  }
}
