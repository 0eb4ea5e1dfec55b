package dev.roundhouse.gateway.rest;

import dev.roundhouse.platform.rest.ClientMemory;
import dev.roundhouse.transport.forward.ForwardingBudget;
import io.grpc.Status;
import io.grpc.StatusException;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;

/**
 * The beginning of a body, and what follows it. Only a body that is whole here can be sent twice.
 * To be closed when its request ends: the HTTP client may still read what follows, on a thread of
 * its own, after a worker has answered without having read all, and the request's stream is then
 * another request's.
 */
final class BodyHead implements AutoCloseable {
  /** As much as is looked at, and held, of a body. */
  static final int MOST_BYTES = 64 << 10;

  private final byte[] head;
  private final boolean whole;
  private final Rest rest;
  private final long length;
  private final HeldShare share;

  private BodyHead(byte[] head, boolean whole, Rest rest, long length, HeldShare share) {
    this.head = head;
    this.whole = whole;
    this.rest = rest;
    this.length = length;
    this.share = share;
  }

  /**
   * @param length of the body; below 0 when it is not known
   * @param most bytes that it may have
   * @param memory that is taken for it and its answer until it is closed
   * @param client whose it is; closed with it, or when it is refused
   * @throws StatusException INVALID_ARGUMENT when it says that it has more; RESOURCE_EXHAUSTED when
   *     there is too little memory
   */
  static BodyHead read(
      InputStream in, long length, long most, ForwardingBudget memory, ClientMemory client)
      throws IOException, StatusException {
    if (length > most) {
      client.close();
      throw tooLarge(length + " bytes", most);
    }
    int wanted = (int) HeldShare.wholeBody(length, MOST_BYTES);
    boolean goesOn = length < 0 || length > MOST_BYTES;
    int passing = (goesOn ? 2 : 1) * HeldShare.PASSING_BYTES; // the rest of it, and the answer
    HeldShare share = HeldShare.take(memory, client, wanted + passing);
    try {
      byte[] read = in.readNBytes(wanted);
      boolean whole = length < 0 ? read.length < MOST_BYTES : read.length == length;
      return new BodyHead(read, whole, new Rest(in, most - read.length), length, share);
    } catch (IOException | RuntimeException | Error e) {
      share.close();
      throw e;
    }
  }

  private static StatusException tooLarge(String size, long most) {
    return Status.INVALID_ARGUMENT
        .withDescription(
            "the request's body has %s, the limit is %d; send less, or raise roundhouse.gateway.server.max-message-size"
                .formatted(size, most))
        .asException();
  }

  /**
   * @throws StatusException INVALID_ARGUMENT when more came than it may have
   */
  void requireWithin(long most) throws StatusException {
    if (rest.isTooLarge()) {
      throw tooLarge("more", most);
    }
  }

  /** True when its client has not sent all of it, or more than it may. */
  boolean isBroken() {
    return rest.isBroken();
  }

  /** Not to be changed. */
  byte[] bytes() {
    return head;
  }

  /** True when it is the body. */
  boolean isWhole() {
    return whole;
  }

  /** Whose it is, as a worker is told. */
  int caller() {
    return share.caller();
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

  /** Nobody reads from the request any more; waits for a read that is under way. */
  @Override
  public void close() {
    rest.close();
    share.close();
  }

  private static final class Rest extends InputStream {
    private final InputStream in;
    private long left;
    private boolean closed;
    private boolean tooLarge;
    private boolean broken;

    Rest(InputStream in, long most) {
      this.in = in;
      left = most;
    }

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public synchronized int read(byte[] into, int offset, int length) throws IOException {
      if (closed) {
        throw new IOException("the request has ended");
      }
      int count = readOf(into, offset, length);
      left -= Math.max(count, 0);
      if (left < 0) {
        tooLarge = true;
        throw new IOException("the request's body is too large");
      }
      return count;
    }

    private int readOf(byte[] into, int offset, int length) throws IOException {
      try {
        return in.read(into, offset, length);
      } catch (IOException e) {
        broken = true;
        throw e;
      }
    }

    synchronized boolean isBroken() {
      return broken || tooLarge;
    }

    synchronized boolean isTooLarge() {
      return tooLarge;
    }

    @Override
    public synchronized void close() {
      closed = true;
    }
  }
}
