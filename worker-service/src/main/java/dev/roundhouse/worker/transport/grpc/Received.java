package dev.roundhouse.worker.transport.grpc;

import io.grpc.Status;

/** What came of the bytes of one message. */
sealed interface Received<T> {

  /** They are a message. */
  record Message<T>(T value) implements Received<T> {}

  /**
   * They are none, or hold more than they may.
   *
   * @param status that the call ends with
   */
  record Refusal<T>(Status status) implements Received<T> {}
}
