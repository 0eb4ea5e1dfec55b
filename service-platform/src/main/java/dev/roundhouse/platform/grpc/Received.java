package dev.roundhouse.platform.grpc;

import io.grpc.Status;

/** What came of the bytes of one message. */
public sealed interface Received<T> {

  /** They are a message. */
  record Message<T>(T value) implements Received<T> {}

  /**
   * They are none, or hold more than they may.
   *
   * @param status that the call ends with
   */
  record Refusal<T>(Status status) implements Received<T> {}
}
