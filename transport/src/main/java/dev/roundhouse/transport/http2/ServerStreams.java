package dev.roundhouse.transport.http2;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2EventAdapter;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.codec.http2.Http2Stream;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A connection's streams, and what its client's frames mean for them. On its event loop. */
final class ServerStreams extends Http2EventAdapter {
  private final Connection connection;
  private final Connection.Server server;
  private final PeerEvents events;
  private final Http2Connection.PropertyKey key;

  /**
   * @param server makes calls of the streams
   */
  ServerStreams(Connection connection, Connection.Server server, PeerEvents events) {
    this.connection = connection;
    this.server = server;
    this.events = events;
    key = connection.connection().newKey();
  }

  /** Passes all of them to an action, which may end them. */
  void forEach(Consumer<ServerStream> action) throws Http2Exception {
    connection
        .connection()
        .forEachActiveStream(
            stream -> {
              ServerStream known = stream.getProperty(key);
              if (known != null) {
                action.accept(known);
              }
              return true;
            });
  }

  private @Nullable ServerStream stream(int id) {
    Http2Stream stream = connection.connection().stream(id);
    return stream == null ? null : stream.getProperty(key);
  }

  @Override
  public void onHeadersRead(
      ChannelHandlerContext from,
      int streamId,
      Http2Headers headers,
      int streamDependency,
      short weight,
      boolean exclusive,
      int padding,
      boolean endOfStream)
      throws Http2Exception {
    onHeadersRead(from, streamId, headers, padding, endOfStream);
  }

  @Override
  public void onHeadersRead(
      ChannelHandlerContext from,
      int streamId,
      Http2Headers headers,
      int padding,
      boolean endOfStream)
      throws Http2Exception {
    Http2Stream stream = connection.connection().stream(streamId);
    if (stream == null) {
      return;
    }
    ServerStream known = stream.getProperty(key);
    if (known == null) {
      ServerStream opened = new ServerStream(connection, stream);
      stream.setProperty(key, opened);
      server.open(opened, headers, endOfStream);
    } else if (endOfStream) {
      known.endOfStream();
    }
  }

  @Override
  public int onDataRead(
      ChannelHandlerContext from, int streamId, ByteBuf data, int padding, boolean endOfStream) {
    ServerStream stream = stream(streamId);
    return stream == null
        ? data.readableBytes() + padding
        : stream.receive(data, padding, endOfStream);
  }

  @Override
  public void onStreamActive(Http2Stream stream) {
    server.streamOpened();
  }

  @Override
  public void onStreamClosed(Http2Stream stream) {
    server.streamClosed();
    ServerStream known = stream.removeProperty(key);
    if (known != null) {
      known.closed();
    }
  }

  @Override
  public void onSettingsRead(ChannelHandlerContext from, Http2Settings theirs) {
    events.settingsReceived();
  }

  @Override
  public void onWindowUpdateRead(ChannelHandlerContext from, int streamId, int bytes) {
    if (streamId == Http2CodecUtil.CONNECTION_STREAM_ID) {
      events.allowed(bytes);
      return;
    }
    ServerStream stream = stream(streamId);
    if (stream != null) {
      stream.allowed(bytes);
    }
  }

  @Override
  public void onPingRead(ChannelHandlerContext from, long data) {
    events.pinged();
  }

  @Override
  public void onPingAckRead(ChannelHandlerContext from, long data) {
    events.pingAnswered(data);
  }
}
