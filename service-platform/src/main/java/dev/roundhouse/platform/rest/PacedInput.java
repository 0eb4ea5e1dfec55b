package dev.roundhouse.platform.rest;

import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.apache.coyote.ActionCode;
import org.apache.coyote.InputBuffer;
import org.apache.coyote.Request;
import org.apache.tomcat.util.net.ApplicationBufferHandler;

/**
 * The body of the request that a connection is at, whose client must send it steadily: one that
 * sends a byte now and then would hold a connection, a thread and memory for as long as it likes.
 * Only the time that is spent waiting for the client counts. For the thread of the request.
 */
final class PacedInput implements InputBuffer {
  /** That must come in the time that is allowed, or the whole rest. As of a gRPC message. */
  static final int LEAST_BYTES = 1 << 14;

  /**
   * Bytes discarded of an unwanted body beyond its limit: many clients send everything before they
   * read why it was refused. Same as the worker's own server.
   */
  private static final long FORGOTTEN_BYTES = 64 << 20;

  private static final long FORGOTTEN_NANOS = TimeUnit.SECONDS.toNanos(30);

  private final InputBuffer input;
  private final Duration allowed;
  private final long allowedBytes;

  /** Of this body. */
  private long most;

  private final long mostForgotten;
  private long bytes;
  private long bytesThen;
  private long waitedNanos;

  /**
   * @param allowed for the next {@link #LEAST_BYTES}
   * @param most bytes of a body
   * @param mostForgotten bytes discarded of an unwanted body, beside {@link #FORGOTTEN_BYTES}, so
   *     that its client reads why
   */
  PacedInput(InputBuffer input, Duration allowed, long most, long mostForgotten) {
    this.input = input;
    this.allowed = allowed;
    allowedBytes = most;
    this.most = most;
    this.mostForgotten = mostForgotten;
  }

  /** Another request begins. */
  void begin() {
    bytes = 0;
    most = allowedBytes;
    bytesThen = 0;
    waitedNanos = 0;
  }

  /**
   * @throws WireException DEADLINE_EXCEEDED when the client is too slow, INVALID_ARGUMENT when it
   *     sends too much; Tomcat would take another exception for a client that has gone
   */
  @Override
  public int doRead(ApplicationBufferHandler handler) throws IOException {
    if (waitedNanos >= allowed.toNanos()) {
      throw new WireException(
          WireStatus.DEADLINE_EXCEEDED,
          "the request's body has stopped arriving: %d bytes of it have come, and only %d in %d ms of waiting; send it faster, or raise roundhouse.worker.server.stalled-message-timeout"
              .formatted(bytes, bytes - bytesThen, waitedNanos / 1_000_000));
    }
    long before = System.nanoTime();
    int count = input.doRead(handler);
    waitedNanos += System.nanoTime() - before;
    bytes += Math.max(count, 0);
    if (bytes > most) {
      throw WireException.invalidArgument(
          "the request's body has more than %d bytes, which is the limit on this port; send less"
              .formatted(most));
    }
    if (bytes - bytesThen >= LEAST_BYTES) {
      bytesThen = bytes;
      waitedNanos = 0;
    }
    return count;
  }

  /** Reads and discards the rest, or closes the connection when it does not arrive or end. */
  void drain(Request request) {
    long mostForgotten = bytes + this.mostForgotten + FORGOTTEN_BYTES;
    long began = System.nanoTime();
    most = Long.MAX_VALUE;
    Forgetting forgetting = new Forgetting();
    try {
      while (bytes <= mostForgotten && System.nanoTime() - began <= FORGOTTEN_NANOS) {
        if (doRead(forgetting) < 0) {
          return;
        }
      }
      close(request, new IOException("a body that nobody wants does not end"));
    } catch (IOException | WireException e) {
      close(request, e);
    }
  }

  private static void close(Request request, Exception why) {
    request.action(ActionCode.DISABLE_SWALLOW_INPUT, null);
    request.action(ActionCode.CLOSE_NOW, why);
  }

  /** Takes what was read, where it lies, and does nothing with it. */
  private static final class Forgetting implements ApplicationBufferHandler {
    private ByteBuffer read = ByteBuffer.allocate(0);

    @Override
    public void setByteBuffer(ByteBuffer buffer) {
      read = buffer;
    }

    @Override
    public ByteBuffer getByteBuffer() {
      return read;
    }

    @Override
    public void expand(int size) {}
  }

  @Override
  public int available() {
    return input.available();
  }
}
