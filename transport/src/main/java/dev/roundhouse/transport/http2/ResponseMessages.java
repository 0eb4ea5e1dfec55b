package dev.roundhouse.transport.http2;

import io.grpc.Codec;
import io.grpc.Compressor;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import org.jspecify.annotations.Nullable;

/**
 * What a service answers: encodes it and sends it to the event loop. An answer of one message is
 * sent as a whole, with its status. By any thread, one at a time, except where noted.
 */
final class ResponseMessages<R> {
  /** A call with more unsent bytes than this is not ready for more. */
  private static final int READY_BYTES = 1 << 15;

  /** Shared by all calls whose answer is one message. */
  private static final AtomicInteger NOTHING_UNSENT = new AtomicInteger();

  @SuppressWarnings("rawtypes")
  private static final AtomicReferenceFieldUpdater<ResponseMessages, @Nullable ByteBuf> PENDING =
      AtomicReferenceFieldUpdater.newUpdater(
          ResponseMessages.class, ByteBuf.class, "pendingMessage");

  private final Connection connection;
  private final MethodDescriptor<?, R> method;
  private final Owner owner;
  private final boolean unary;
  private State state = State.NONE;
  private @Nullable Http2Headers pendingHeaders;

  /** The only message of an answer, until its status is given. */
  private volatile @Nullable ByteBuf pendingMessage;

  private @Nullable Compressor compressor;
  private boolean compressMessages = true;

  /** Bytes of a streaming answer not sent yet. */
  private final AtomicInteger unsent;

  /** What the service has given. */
  private enum State {
    NONE,
    HEADERS,
    STATUS
  }

  /** The call. */
  interface Owner {
    /** Writes part of the answer. On the event loop. */
    void write(
        @Nullable Http2Headers headers, @Nullable ByteBuf message, @Nullable Http2Headers trailers);

    /** The answer cannot be encoded. On the event loop. */
    void end(Status status);

    /** True when the answer is no longer wanted. Any thread. */
    boolean isCancelled();
  }

  ResponseMessages(Connection connection, MethodDescriptor<?, R> method, Owner owner) {
    this.connection = connection;
    this.method = method;
    this.owner = owner;
    unary = method.getType().serverSendsOneMessage();
    unsent = unary ? NOTHING_UNSENT : new AtomicInteger();
  }

  /**
   * @param request whose client says which compressions it reads
   */
  void sendHeaders(Metadata answered, Metadata request) {
    if (state == State.HEADERS) {
      throw new IllegalStateException("headers have been sent");
    }
    if (state == State.STATUS) {
      return; // there is no listener
    }
    state = State.HEADERS;
    Compressor chosen = compressor;
    if (chosen != null && !HeaderCodec.accepts(request, chosen)) {
      compressor = null;
    }
    Http2Headers first = connection.headers().begin(answered, compressor);
    if (unary) {
      pendingHeaders = first;
    } else {
      connection.send(new Outbound(owner, first, null, null));
    }
  }

  void sendMessage(R message) {
    if (state != State.HEADERS) {
      throw new IllegalStateException(
          state == State.STATUS ? "the call is closed" : "no headers have been sent");
    }
    if (unary && pendingMessage != null) {
      throw Status.INTERNAL.withDescription("Too many responses").asRuntimeException();
    }
    ByteBuf framed;
    try {
      framed =
          MessageFrame.of(
              connection.allocator(),
              method.streamResponse(message),
              compressMessages ? compressor : null);
    } catch (Throwable e) {
      state = State.STATUS;
      connection.later(
          () -> owner.end(Status.INTERNAL.withDescription("the answer could not be written")));
      throw e;
    }
    if (unary) {
      pendingMessage = framed;
      if (owner.isCancelled()) {
        drop(); // the call may have been ended before it was set
      }
    } else {
      unsent.addAndGet(framed.readableBytes());
      connection.send(new Outbound(owner, null, framed, null));
    }
  }

  /** Drops a message whose status may never be given. Any thread. */
  void drop() {
    ByteBuf message = PENDING.getAndSet(this, null);
    if (message != null) {
      message.release();
    }
  }

  boolean isReady() {
    return state != State.STATUS && unsent.get() < READY_BYTES;
  }

  /**
   * Part of the answer has left, or never will. On the event loop.
   *
   * @return true when the call has become ready by that
   */
  boolean left(int bytes) {
    if (unary) {
      return false;
    }
    int before = unsent.getAndAdd(-bytes);
    return before >= READY_BYTES && before - bytes < READY_BYTES;
  }

  void close(Status status, Metadata trailers) {
    if (state == State.STATUS) {
      return; // the transport has ended it
    }
    boolean isBegun = state == State.HEADERS;
    state = State.STATUS;
    ByteBuf message = PENDING.getAndSet(this, null);
    Status given = status;
    if (unary && status.isOk() && message == null) {
      given = Status.INTERNAL.withDescription("Completed without a response");
    }
    boolean first = unary ? !given.isOk() : !isBegun;
    if (message != null && first) {
      message.release();
      message = null;
    }
    connection.send(
        new Outbound(
            owner,
            first ? null : pendingHeaders,
            message,
            connection.headers().end(given, trailers, first)));
  }

  void compressMessages(boolean enabled) {
    compressMessages = enabled;
  }

  void compression(String name) {
    if (state == State.HEADERS) {
      throw new IllegalStateException("headers have been sent");
    }
    Compressor found = connection.headers().compressor(name);
    if (found == null) {
      throw new IllegalArgumentException("there is no compression '" + name + "'");
    }
    compressor = found == Codec.Identity.NONE ? null : found;
  }

  /** Part of an answer on its way to the event loop. */
  private record Outbound(
      Owner owner,
      @Nullable Http2Headers headers,
      @Nullable ByteBuf message,
      @Nullable Http2Headers trailers)
      implements GatheredWrites.Part {

    @Override
    public void write() {
      owner.write(headers, message, trailers);
    }

    @Override
    public void drop() {
      if (message != null) {
        message.release();
      }
    }
  }
}
