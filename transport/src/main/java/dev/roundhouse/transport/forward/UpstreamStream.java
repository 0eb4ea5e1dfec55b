package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.forward.LostCall.Fault;
import dev.roundhouse.transport.forward.LostCall.Seen;
import io.grpc.Status;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Stream;
import java.util.ArrayList;
import java.util.List;

/**
 * A call at a server. It waits while there is no connection. As a window it is that of the answer.
 * On the connection's event loop.
 */
final class UpstreamStream implements ForwardingWindow.Window {
  private final UpstreamStreams streams;
  private final UpstreamConnection connection;
  private final Answers answers;
  private final Object client;
  private final Http2Headers headers;
  private final List<Part> parts = new ArrayList<>(1);
  private int id;
  private boolean begun;
  private boolean endsLater;
  private boolean over;

  private record Part(ForwardedChunk data, boolean last) {}

  /** Told of a call's answer. On the event loop. */
  interface Answers {
    void onHeaders(Http2Headers headers);

    /**
     * @param data borrowed; the stream's window controls what the server may send next
     * @param last whether the server sends no more of it
     */
    void onData(ByteBuf data, boolean last);

    /** The server has ended the call. */
    void onTrailers(Http2Headers trailers);

    /** The call has ended without a status from the server. */
    void onLost(Status status);
  }

  /**
   * @param client the caller
   */
  UpstreamStream(
      UpstreamStreams streams,
      UpstreamConnection connection,
      Answers answers,
      Object client,
      Http2Headers headers) {
    this.streams = streams;
    this.connection = connection;
    this.answers = answers;
    this.client = client;
    this.headers = headers;
  }

  Answers answers() {
    return answers;
  }

  Object client() {
    return client;
  }

  /** True once it may have been sent to the server. */
  boolean isBegun() {
    return begun;
  }

  // The request.

  void begin() {
    if (over) {
      return;
    }
    begun = true;
    id = connection.connection().local().incrementAndGetNextStreamId();
    if (id < 0) {
      connection.leave();
      String text = "the connection to " + connection.name() + " is used up";
      end(LostCall.status(text, Seen.NO, Fault.NOBODYS));
      return;
    }
    streams.begun(id, this);
    ChannelHandlerContext to = connection.context();
    connection
        .encoder()
        .writeHeaders(to, id, headers, 0, false, to.newPromise())
        .addListener(
            sent -> {
              if (!sent.isSuccess()) {
                end(notSent(sent.cause()));
              }
            });
    parts.forEach(part -> write(part.data, part.last));
    parts.clear();
    if (endsLater) {
      sendEnd();
    }
    connection.flushSoon();
  }

  /** Status of a call whose headers were not sent. */
  private Status notSent(Throwable cause) {
    String text = "the call could not be sent to " + connection.name() + ": " + cause.getMessage();
    if (cause instanceof Http2Exception.HeaderListSizeException) {
      return Status.RESOURCE_EXHAUSTED.withDescription(text);
    }
    // HTTP/2 has refused it here: the server is going away, or the connection has ended before
    Seen seen = cause instanceof Http2Exception ? Seen.NO : Seen.MAYBE;
    return LostCall.status(text, seen, connection.fault());
  }

  /**
   * Sends part of the request.
   *
   * @param part used until it has been sent, or never will be
   */
  void send(ForwardedChunk part, boolean last) {
    if (over) {
      return;
    }
    if (begun) {
      write(part.retain(), last);
      connection.flushSoon();
    } else {
      parts.add(new Part(part.retain(), last));
    }
  }

  /** Ends the request. */
  void sendEnd() {
    if (begun && !over) {
      ChannelHandlerContext to = connection.context();
      connection.encoder().writeData(to, id, Unpooled.EMPTY_BUFFER, 0, true, to.newPromise());
      connection.flushSoon();
    } else {
      endsLater = true;
    }
  }

  private void write(ForwardedChunk part, boolean last) {
    ChannelHandlerContext to = connection.context();
    ChannelPromise sent = to.newPromise();
    connection.encoder().writeData(to, id, part.data().retainedDuplicate(), 0, last, sent);
    sent.addListener(done -> part.left(part.bytes(), done.isSuccess()));
  }

  // The window for the answer.

  @Override
  public int bytes() {
    Http2Stream stream = connection.connection().stream(id);
    return stream == null ? 0 : connection.window(stream);
  }

  @Override
  public void open(int bytes) {
    Http2Stream stream = connection.connection().stream(id);
    if (!over && stream != null) {
      connection.open(stream, bytes);
      connection.flushSoon();
    }
  }

  // How it ends.

  /**
   * Ends the call because its client has, or another server answers it. A server ends a call by
   * itself when its deadline is near.
   *
   * @param leftNanos until then; {@link Long#MAX_VALUE} without one
   */
  void leave(long leftNanos) {
    if (over) {
      return;
    }
    finish();
    if (!begun) {
      return;
    }
    if (connection.connection().stream(id) != null) {
      streams.leave(id, client, leftNanos);
    } else if (id > connection.connection().local().lastStreamCreated()) {
      // it waits for a stream beyond the server's limit: the server must not see it
      ChannelHandlerContext to = connection.context();
      connection.encoder().writeRstStream(to, id, Http2Error.CANCEL.code(), to.newPromise());
    }
  }

  /** Ends the call without a status from the server; no effect the second time. */
  void end(Status status) {
    if (!over) {
      finish();
      answers.onLost(status);
    }
  }

  /** Passes nothing more on. */
  void finish() {
    over = true;
    streams.remove(id, this);
    parts.forEach(part -> part.data.release());
    parts.clear();
  }
}
