package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.forward.LostCall.Fault;
import dev.roundhouse.transport.forward.LostCall.Seen;
import io.grpc.Status;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2EventAdapter;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Stream;
import io.netty.util.collection.IntObjectHashMap;
import io.netty.util.collection.IntObjectMap;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The calls of a connection to a server, and what the server's frames mean for them. On its event
 * loop.
 */
final class UpstreamStreams extends Http2EventAdapter implements LeftCalls.Streams {
  private final UpstreamConnection connection;

  /** Calls whose streams are not closed, including those waiting for a stream. */
  private final IntObjectMap<UpstreamStream> open = new IntObjectHashMap<>();

  /** Calls opened before the connection is established. */
  private final List<UpstreamStream> waiting = new ArrayList<>();

  private final LeftCalls left = new LeftCalls(this, System::nanoTime);

  /** The connection is established. */
  private boolean active;

  /** The last stream that a server going away will process. */
  private int lastSeenId = Integer.MAX_VALUE;

  UpstreamStreams(UpstreamConnection connection) {
    this.connection = connection;
  }

  /**
   * Opens a call.
   *
   * @param client the caller
   */
  UpstreamStream open(UpstreamStream.Answers answers, Object client, Http2Headers headers) {
    UpstreamStream opened = new UpstreamStream(this, connection, answers, client, headers);
    if (active) {
      opened.begin();
    } else {
      waiting.add(opened);
    }
    return opened;
  }

  /** Begins the calls that have waited for the connection. */
  void begin() {
    active = true;
    waiting.forEach(UpstreamStream::begin);
    waiting.clear();
  }

  /** True when there is no call, nor an abandoned one that has not ended. */
  boolean isEmpty() {
    return open.isEmpty() && left.size() == 0;
  }

  /** True when too many calls that a client left have not ended. */
  boolean hasMostOf(Object client) {
    return left.hasMostOf(client);
  }

  /** Ends all calls: there is no connection. */
  void endAll(Function<UpstreamStream, Status> how) {
    List<UpstreamStream> all = new ArrayList<>(open.values());
    all.addAll(waiting);
    open.clear();
    waiting.clear();
    all.forEach(each -> each.end(how.apply(each)));
  }

  /** Ends a call, if it is not over. */
  void end(int id, Status status) {
    UpstreamStream stream = open.get(id);
    if (stream != null) {
      stream.end(status);
    }
  }

  /** The stream of a call is closed: if the call is not over, the connection has ended. */
  void lost(int id) {
    end(id, connection.ended(id > lastSeenId ? Seen.NO : Seen.MAYBE));
  }

  // For the calls.

  void begun(int id, UpstreamStream stream) {
    open.put(id, stream);
  }

  void remove(int id, UpstreamStream stream) {
    open.remove(id);
    if (!active) {
      waiting.remove(stream);
    }
  }

  /** A call is abandoned, whose stream is open. */
  void leave(int id, Object client, long leftNanos) {
    if (leftNanos < LeftCalls.GRACE_NANOS) {
      left.letEnd(id, client);
    } else {
      left.reset(id, client, Http2Error.CANCEL);
    }
  }

  // For abandoned calls.

  @Override
  public void reset(int id, Http2Error error) {
    ChannelHandlerContext to = connection.context();
    if (connection.connection().stream(id) != null) {
      connection.resetStream(to, id, error.code(), to.newPromise());
      connection.flushSoon();
    }
  }

  @Override
  public void later(Runnable task, long nanos) {
    connection.context().executor().schedule(task, nanos, TimeUnit.NANOSECONDS);
  }

  // The server's frames.

  @Override
  public void onHeadersRead(
      ChannelHandlerContext from,
      int streamId,
      Http2Headers headers,
      int streamDependency,
      short weight,
      boolean exclusive,
      int padding,
      boolean endOfStream) {
    onHeadersRead(from, streamId, headers, padding, endOfStream);
  }

  @Override
  public void onHeadersRead(
      ChannelHandlerContext from,
      int streamId,
      Http2Headers headers,
      int padding,
      boolean endOfStream) {
    UpstreamStream stream = open.get(streamId);
    if (stream == null) {
      if (endOfStream && connection.connection().stream(streamId).state().localSideOpen()) {
        left.answered(streamId);
      }
      return;
    }
    if (endOfStream) {
      stream.finish();
      stream.answers().onTrailers(headers);
      stopSending(stream.client(), connection.connection().stream(streamId));
    } else {
      stream.answers().onHeaders(headers);
    }
  }

  /** An answered call does not need the rest of its request. */
  private void stopSending(Object client, @Nullable Http2Stream answered) {
    if (answered != null && answered.state().localSideOpen()) {
      left.reset(answered.id(), client, Http2Error.NO_ERROR);
    }
  }

  @Override
  public int onDataRead(
      ChannelHandlerContext from, int streamId, ByteBuf data, int padding, boolean endOfStream) {
    UpstreamStream stream = open.get(streamId);
    if (stream == null) {
      return data.readableBytes() + padding;
    }
    connection.steer(connection.connection().stream(streamId));
    stream.answers().onData(data, endOfStream);
    if (endOfStream) {
      stream.end(
          Status.INTERNAL.withDescription(
              connection.name() + " has ended an answer without a status"));
    }
    return data.readableBytes() + padding;
  }

  @Override
  public void onRstStreamRead(ChannelHandlerContext from, int streamId, long errorCode) {
    UpstreamStream stream = open.get(streamId);
    if (stream != null) {
      stream.end(reset(errorCode));
    }
  }

  private Status reset(long code) {
    Http2Error error = Http2Error.valueOf(code);
    String text =
        "%s has reset the call: %s".formatted(connection.name(), error == null ? code : error);
    return error == Http2Error.REFUSED_STREAM
        ? LostCall.status(text, Seen.NO, Fault.NOBODYS) // it is there, and has enough
        : Status.INTERNAL.withDescription(text);
  }

  /** Also called for streams that a server going away will not process. */
  @Override
  public void onStreamClosed(Http2Stream closed) {
    left.closed(closed.id());
    lost(closed.id());
  }

  @Override
  public void onGoAwayReceived(int lastStreamId, long errorCode, ByteBuf debugData) {
    lastSeenId = lastStreamId;
    connection.goesAway(errorCode);
  }
}
