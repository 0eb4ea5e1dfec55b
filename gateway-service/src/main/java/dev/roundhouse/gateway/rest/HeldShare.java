package dev.roundhouse.gateway.rest;

import dev.roundhouse.transport.forward.ForwardingBudget;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.Kept;
import io.grpc.Status;
import io.grpc.StatusException;

/**
 * What one request over HTTP takes of the memory that all calls on their way through have, and of
 * its client's share of it, beside its body.
 */
final class HeldShare implements AutoCloseable {
  /** Bytes of an answer that are here at a time. */
  private static final int PASSING_BYTES = 32 << 10;

  private final ForwardingBudget memory;
  private final ConnectionMemory client;

  private HeldShare(ForwardingBudget memory, ConnectionMemory client) {
    this.memory = memory;
    this.client = client;
  }

  /**
   * @throws StatusException RESOURCE_EXHAUSTED when there is too little
   */
  static HeldShare take(ForwardingBudget memory, ConnectionMemory client) throws StatusException {
    String refusal = memory.take(PASSING_BYTES);
    if (refusal == null) {
      refusal = client.overShare(PASSING_BYTES);
      if (refusal != null) {
        memory.giveBack(PASSING_BYTES);
      }
    }
    if (refusal != null) {
      throw Status.RESOURCE_EXHAUSTED.withDescription(refusal).asException();
    }
    client.own(Kept.BODY, PASSING_BYTES);
    return new HeldShare(memory, client);
  }

  /** Whose it is, as a worker is told. */
  int caller() {
    return client.peerNumber();
  }

  @Override
  public void close() {
    client.disown(Kept.BODY, PASSING_BYTES);
    memory.giveBack(PASSING_BYTES);
  }
}
