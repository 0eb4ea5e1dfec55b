package dev.roundhouse.gateway.rest;

import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.util.Arrays;

/**
 * The body of a request.
 *
 * @param bytes of which {@code length} are the body's
 */
record WholeBody(byte[] bytes, int length) {
  /** As much as is looked at of a body, and as a body may have that is sent again. */
  static final int MOST_BYTES = 64 << 10;

  byte[] begin() {
    return Arrays.copyOf(bytes, Math.min(length, MOST_BYTES));
  }

  boolean canBeSentAgain() {
    return length <= MOST_BYTES;
  }

  BodyPublisher publisher() {
    return BodyPublishers.ofByteArray(bytes, 0, length);
  }
}
