package dev.roundhouse.transport.http2;

import dev.roundhouse.transport.io.StreamProgress;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.Kept;
import io.grpc.Attributes;
import io.grpc.Status;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.CompositeByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2RemoteFlowController;
import io.netty.handler.codec.http2.Http2Stream;
import io.netty.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/**
 * A stream of a client's connection: which side may still send, what is written to it, and whether
 * its client keeps sending and reading. Its {@link StreamListener} handles the content. On the
 * connection's event loop.
 */
public final class ServerStream {

  /** The client's deadline has passed. */
  public static final Status LATE =
      Status.DEADLINE_EXCEEDED.withDescription("the call's deadline has passed");

  private final Connection connection;
  private final Http2Stream stream;
  private final StreamProgress progress = new StreamProgress();
  private @Nullable StreamListener listener;
  private State state = State.OPEN;
  private boolean headersWritten;

  private int unread;

  /** Bytes that the stream is counted for. */
  private long kept;

  /** States of a stream, in order. */
  public enum State {
    /** Both sides may send. */
    OPEN,
    /** The client has sent everything. */
    HALF_CLOSED_REMOTE,
    /** The answer's end is written, but maybe not sent. Further input is dropped. */
    HALF_CLOSED_LOCAL,
    /** This side has reset it. */
    RESET,
    /** It is gone. */
    CLOSED
  }

  /** Told what becomes of data written to the client. */
  public interface Departure {
    /**
     * It has been sent, or never will be.
     *
     * @param bytes of the data
     * @param sent whether it has been sent
     */
    void left(int bytes, boolean sent);
  }

  ServerStream(Connection connection, Http2Stream stream) {
    this.connection = connection;
    this.stream = stream;
  }

  Connection connection() {
    return connection;
  }

  public State state() {
    return state;
  }

  /** True once nothing more is written or wanted from the client. */
  public boolean isEnded() {
    return state.compareTo(State.HALF_CLOSED_LOCAL) >= 0;
  }

  /** True once it is reset or gone. */
  boolean isGivenUp() {
    return state.compareTo(State.RESET) >= 0;
  }

  /** True once anything has been sent to the client. */
  public boolean isAnswered() {
    return headersWritten;
  }

  /** The listener; null while it is not a call. */
  @Nullable StreamListener listener() {
    return listener;
  }

  StreamProgress progress() {
    return progress;
  }

  /** Bytes received and not counted as read. */
  int unread() {
    return unread;
  }

  /** Bytes sent, less what the client has allowed by WINDOW_UPDATE. */
  long sentLessCredit() {
    Http2RemoteFlowController window = connection.connection().remote().flowController();
    return (long) window.initialWindowSize() - window.windowSize(stream);
  }

  /** True while written data has not been sent. */
  boolean isLeaving() {
    return progress.isLeaving();
  }

  // The connection's.

  public EventLoop eventLoop() {
    return connection.context().channel().eventLoop();
  }

  /** Memory of the connection, shared by its streams. */
  public ConnectionMemory memory() {
    return connection.memory();
  }

  /** What is known of the connection, its client's address and TLS session. */
  public Attributes attributes() {
    return connection.attributes();
  }

  public HeaderCodec headers() {
    return connection.headers();
  }

  /** What the client may send to the stream unacknowledged. */
  public int windowBytes() {
    return connection.windowBytes();
  }

  public int maxMessageBytes() {
    return connection.maxMessageBytes();
  }

  // Receiving.

  /**
   * Counts the stream until it is closed.
   *
   * @return null when counted; otherwise why not
   */
  @Nullable String keep(long bytes) {
    String refusal = memory().take(Kept.CALL, bytes);
    if (refusal == null) {
      kept = bytes;
    }
    return refusal;
  }

  /** Sets the listener for what arrives from now on. */
  void listen(StreamListener to) {
    listener = to;
    connection.callBegan();
  }

  /**
   * @return how many of the bytes are counted as read now; the others follow later
   */
  int receive(ByteBuf data, int padding, boolean endOfStream) {
    int bytes = data.readableBytes() + padding;
    StreamListener to = listener;
    if (to == null || isEnded()) {
      return bytes;
    }
    progress.arrived(data.readableBytes());
    if (endOfStream) {
      state = State.HALF_CLOSED_REMOTE;
    }
    if (to.received(data, endOfStream)) {
      return bytes;
    }
    unread += bytes;
    return 0;
  }

  /** The client sends no more. */
  void endOfStream() {
    StreamListener to = listener;
    if (to != null && !isEnded()) {
      state = State.HALF_CLOSED_REMOTE;
      to.endOfStream();
    }
  }

  /** The last byte of this many messages has arrived. */
  public void completed(int messages) {
    progress.completed(messages);
  }

  /** Counts all that has arrived as read. */
  void readOn() {
    if (unread > 0) {
      int bytes = unread;
      unread = 0;
      try {
        if (connection.connection().local().flowController().consumeBytes(stream, bytes)) {
          connection.flushUnlessReading();
        }
      } catch (Http2Exception e) {
        connection.onError(connection.context(), true, e);
      }
    }
  }

  /** From now on only {@link #openWindow} opens the stream's window. */
  public void steer() {
    connection.steer(stream);
  }

  /** What the client may send now. */
  public int window() {
    return connection.window(stream);
  }

  /** Lets the client send more to a steered stream. */
  public void openWindow(int bytes) {
    connection.open(stream, bytes);
    connection.flushUnlessReading();
  }

  /** The client allows this many more bytes. */
  void allowed(int bytes) {
    progress.allowed(bytes);
  }

  /** The stream is gone. */
  void closed() {
    boolean ends = state == State.HALF_CLOSED_LOCAL;
    state = State.CLOSED;
    StreamListener to = listener;
    if (to != null) {
      to.closed(ends);
      connection.callEnded();
    }
    if (kept > 0) {
      memory().giveBack(Kept.CALL, kept);
    }
  }

  // Writing.

  public void writeHeaders(Http2Headers headers) {
    headersWritten = true;
    ChannelHandlerContext to = connection.context();
    connection.encoder().writeHeaders(to, stream.id(), headers, 0, false, to.newPromise());
  }

  /**
   * Parts of a composite are written one by one: cutting frames from each is cheaper.
   *
   * @param data owned by this
   */
  public void writeData(ByteBuf data, Departure of) {
    ChannelHandlerContext to = connection.context();
    ChannelPromise promise = to.newPromise();
    int bytes = data.readableBytes();
    connection.writing();
    progress.leaving();
    promise.addListener(
        done -> {
          connection.written();
          progress.left();
          of.left(bytes, done.isSuccess());
        });
    if (!(data instanceof CompositeByteBuf parts)) {
      connection.encoder().writeData(to, stream.id(), data, 0, false, promise);
      return;
    }
    int last = parts.numComponents() - 1;
    for (int i = 0; i <= last; i++) {
      ByteBuf part = parts.component(i).retain();
      ChannelPromise left = i == last ? promise : to.newPromise();
      connection.encoder().writeData(to, stream.id(), part, 0, false, left);
    }
    parts.release();
  }

  /**
   * Writes the end of the answer. A client of a stream without a listener is told to stop once it
   * has been sent.
   *
   * @param counted whether the connection's memory counts it until then
   */
  public void writeEnd(Http2Headers trailers, boolean counted) {
    state = State.HALF_CLOSED_LOCAL;
    long bytes = counted ? HeaderCodec.bytes(trailers) : 0;
    if (bytes > 0) {
      memory().add(Kept.REFUSAL, bytes);
    }
    ChannelHandlerContext to = connection.context();
    ChannelFuture written =
        connection.encoder().writeHeaders(to, stream.id(), trailers, 0, true, to.newPromise());
    if (bytes > 0) {
      written.addListener(done -> memory().giveBack(Kept.REFUSAL, bytes));
    }
    written.addListener(this::endLeft);
  }

  /** Ends with a text in place of messages and trailers. */
  void writeEnd(String text) {
    state = State.HALF_CLOSED_LOCAL;
    ChannelHandlerContext to = connection.context();
    ByteBuf data = ByteBufUtil.writeUtf8(to.alloc(), text);
    connection
        .encoder()
        .writeData(to, stream.id(), data, 0, true, to.newPromise())
        .addListener(done -> stopSending());
  }

  private void endLeft(Future<?> written) {
    StreamListener of = listener;
    if (of == null) {
      stopSending();
    } else {
      of.ended(written.isSuccess());
    }
  }

  /** Flushes together with everything written in this turn of the event loop. */
  public void flushSoon() {
    connection.flushSoon();
  }

  /** Tells the client of an answered call that the rest of its request is not needed. */
  public void stopSending() {
    if (stream.state().remoteSideOpen()) {
      reset(Http2Error.NO_ERROR);
    }
  }

  private void reset(Http2Error error) {
    ChannelHandlerContext to = connection.context();
    connection.resetStream(to, stream.id(), error.code(), to.newPromise());
    connection.flushUnlessReading();
  }

  // Early ends.

  /** The client's deadline has passed: it is told; if it does not read, it has given up too. */
  public void endLate() {
    StreamListener of = listener;
    if (of == null || isGivenUp()) {
      return;
    }
    if (isLeaving()) {
      giveUp(LATE, Http2Error.CANCEL);
    } else {
      of.end(LATE);
    }
  }

  /** Resets a stream whose client does not read. */
  void giveUp(Status status, Http2Error error) {
    StreamListener of = listener;
    if (of != null) {
      state = State.RESET;
      of.givenUp(status);
      reset(error);
    }
  }
}
