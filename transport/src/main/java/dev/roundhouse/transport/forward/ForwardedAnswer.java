package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.http2.ServerStream;
import io.grpc.StatusException;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import org.jspecify.annotations.Nullable;

/**
 * The answer to a forwarded call, from one server to the client. On the event loop of the client's
 * connection.
 */
final class ForwardedAnswer {
  private final ServerStream stream;
  private final ForwardingBudget memory;
  private @Nullable ForwardingWindow passage;

  ForwardedAnswer(ServerStream stream, ForwardingBudget memory) {
    this.stream = stream;
    this.memory = memory;
  }

  /**
   * Counts what has arrived.
   *
   * @param data borrowed
   * @param last whether the server sends no more of it
   * @return a part with one user
   * @throws StatusException when there is no memory for it
   */
  ForwardedChunk arrived(UpstreamStream from, ByteBuf data, boolean last) throws StatusException {
    ForwardingWindow through = passage;
    if (through == null) {
      MessageBounds bounds = new MessageBounds(Integer.MAX_VALUE);
      through =
          new ForwardingWindow(
              memory,
              stream.memory(),
              bounds,
              stream.windowBytes(),
              false,
              from,
              stream.eventLoop());
      passage = through;
    }
    ForwardedChunk part = through.arrived(data, false);
    if (last) {
      through.close();
    }
    return part;
  }

  /** How many messages have arrived. */
  int messages() {
    return passage == null ? 0 : passage.messages();
  }

  void begin(Http2Headers headers) {
    stream.writeHeaders(headers);
  }

  /**
   * @param part this is one of its users
   */
  void write(ForwardedChunk part) {
    stream.writeData(part.data().retainedDuplicate(), part);
    stream.flushSoon();
  }

  void end(Http2Headers trailers) {
    stream.writeEnd(trailers, false);
    stream.flushSoon();
  }

  /** Nothing more will come from a server. */
  void close() {
    if (passage != null) {
      passage.close();
    }
  }
}
