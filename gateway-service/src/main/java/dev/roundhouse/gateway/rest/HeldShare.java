package dev.roundhouse.gateway.rest;

import dev.roundhouse.grpc.HeldMemory;
import io.grpc.Status;
import io.grpc.StatusException;

/** What one request over HTTP takes of the memory that all calls on their way through have. */
final class HeldShare implements AutoCloseable {
  /** Bytes of an answer, or of a body that is passed on, that are here at a time. */
  static final int PASSING_BYTES = 32 << 10;

  private final HeldMemory memory;
  private final long bytes;

  private HeldShare(HeldMemory memory, long bytes) {
    this.memory = memory;
    this.bytes = bytes;
  }

  /**
   * @throws StatusException RESOURCE_EXHAUSTED when there is too little
   */
  static HeldShare take(HeldMemory memory, long bytes) throws StatusException {
    String refusal = memory.take(bytes);
    if (refusal != null) {
      throw Status.RESOURCE_EXHAUSTED.withDescription(refusal).asException();
    }
    return new HeldShare(memory, bytes);
  }

  /**
   * What is held of a body that is read as a whole.
   *
   * @param length that it says it has; below 0 when it does not
   * @param most that is read of it
   */
  static long wholeBody(long length, long most) {
    return length < 0 ? most : Math.min(length, most);
  }

  @Override
  public void close() {
    memory.giveBack(bytes);
  }
}
