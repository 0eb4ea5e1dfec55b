package dev.roundhouse.gateway.rest;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;

/**
 * The beginning of a body, and what follows it. Only a body that is whole here can be sent twice.
 */
final class BodyHead {
  /** As much as is looked at, and held, of a body. */
  static final int MOST_BYTES = 64 << 10;

  private final byte[] head;
  private final boolean whole;
  private final InputStream rest;
  private final long length;

  private BodyHead(byte[] head, boolean whole, InputStream rest, long length) {
    this.head = head;
    this.whole = whole;
    this.rest = rest;
    this.length = length;
  }

  /**
   * @param length of the body; below 0 when it is not known
   */
  static BodyHead read(InputStream in, long length) throws IOException {
    byte[] read = in.readNBytes(length < 0 ? MOST_BYTES : (int) Math.min(length, MOST_BYTES));
    boolean whole = length < 0 ? read.length < MOST_BYTES : read.length == length;
    return new BodyHead(read, whole, in, length);
  }

  /** Not to be changed. */
  byte[] bytes() {
    return head;
  }

  /** True when it is the body. */
  boolean isWhole() {
    return whole;
  }

  /** The body, to be sent; more than once only when it is whole. */
  BodyPublisher publisher() {
    if (whole) {
      return BodyPublishers.ofByteArray(head);
    }
    BodyPublisher all =
        BodyPublishers.ofInputStream(
            () -> new SequenceInputStream(new ByteArrayInputStream(head), rest));
    return length < 0 ? all : BodyPublishers.fromPublisher(all, length);
  }
}
