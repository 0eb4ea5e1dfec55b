package dev.roundhouse.worker.transport.grpc;

import dev.roundhouse.kserve.codec.MessageMemory;
import dev.roundhouse.transport.http2.ReceivedMessage;

/** The memory of a message in the transport's pool. */
public final class PooledMemory implements MessageMemory {
  private final ReceivedMessage message;

  private PooledMemory(ReceivedMessage message) {
    this.message = message;
  }

  /** Of any message. */
  public static MessageMemory of(ReceivedMessage message) {
    return message.isCollected() ? COLLECTED : new PooledMemory(message);
  }

  @Override
  public void hold() {
    message.retain();
  }

  @Override
  public void release() {
    message.release();
  }
}
