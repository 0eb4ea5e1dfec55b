package dev.roundhouse.gateway.rest;

import dev.roundhouse.platform.rest.ClientMemory;
import dev.roundhouse.transport.forward.ForwardingBudget;
import dev.roundhouse.transport.memory.Kept;
import io.grpc.Status;
import io.grpc.StatusException;

/**
 * What one request over HTTP takes of the memory that all calls on their way through have, and of
 * its client's share of it.
 */
final class HeldShare implements AutoCloseable {
  /** Bytes of an answer, or of a body that is passed on, that are here at a time. */
  static final int PASSING_BYTES = 32 << 10;

  private final ForwardingBudget memory;
  private final ClientMemory client;
  private final long bytes;

  private HeldShare(ForwardingBudget memory, ClientMemory client, long bytes) {
    this.memory = memory;
    this.client = client;
    this.bytes = bytes;
  }

  /**
   * @param client closed with the share, or when there is none
   * @throws StatusException RESOURCE_EXHAUSTED when there is too little
   */
  static HeldShare take(ForwardingBudget memory, ClientMemory client, long bytes)
      throws StatusException {
    String refusal = memory.take(bytes);
    if (refusal == null) {
      refusal = client.memory().overShare(bytes);
      if (refusal != null) {
        memory.giveBack(bytes);
      }
    }
    if (refusal != null) {
      client.close();
      throw Status.RESOURCE_EXHAUSTED.withDescription(refusal).asException();
    }
    client.memory().own(Kept.BODY, bytes);
    return new HeldShare(memory, client, bytes);
  }

  /** Whose it is, as a worker is told. */
  int caller() {
    return client.memory().peerNumber();
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
    client.memory().disown(Kept.BODY, bytes);
    memory.giveBack(bytes);
    client.close();
  }
}
