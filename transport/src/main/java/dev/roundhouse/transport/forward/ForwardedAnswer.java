package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.http2.Connection;
import dev.roundhouse.transport.io.StreamProgress;
import io.grpc.StatusException;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Stream;
import org.jspecify.annotations.Nullable;

/**
 * The answer to a call that is sent on, on its way from one server to the client. On the event loop
 * of the client's connection.
 */
final class ForwardedAnswer {
  private final Connection client;
  private final Http2Stream stream;
  private final ForwardingBudget memory;
  private final StreamProgress progress;
  private @Nullable ForwardingWindow passage;
  private boolean begun;

  ForwardedAnswer(
      Connection client, Http2Stream stream, ForwardingBudget memory, StreamProgress progress) {
    this.client = client;
    this.stream = stream;
    this.memory = memory;
    this.progress = progress;
  }

  /** True once the client has been told anything. */
  boolean hasBegun() {
    return begun;
  }

  /**
   * Counts what has come.
   *
   * @param data borrowed
   * @param last whether the server sends no more of it
   * @return a part with one user
   * @throws StatusException when there is no memory for it
   */
  HeldPart arrived(UpstreamConnection.Exchange from, ByteBuf data, boolean last)
      throws StatusException {
    ForwardingWindow through = passage;
    if (through == null) {
      MessageBounds bounds = new MessageBounds(Integer.MAX_VALUE);
      through =
          new ForwardingWindow(
              memory,
              client.memory(),
              bounds,
              client.windowBytes(),
              false,
              from.window(),
              client.context().channel().eventLoop());
      passage = through;
    }
    HeldPart part = through.arrived(data, false);
    if (last) {
      through.close();
    }
    return part;
  }

  /** How many messages have come. */
  int messages() {
    return passage == null ? 0 : passage.messages();
  }

  void begin(Http2Headers headers) {
    begun = true;
    ChannelHandlerContext to = client.context();
    client.encoder().writeHeaders(to, stream.id(), headers, 0, false, to.newPromise());
  }

  /**
   * @param part one of its users is this
   */
  void write(HeldPart part) {
    ChannelHandlerContext to = client.context();
    ChannelPromise sent = to.newPromise();
    client.writing();
    progress.leaving();
    client.encoder().writeData(to, stream.id(), part.data().retainedDuplicate(), 0, false, sent);
    sent.addListener(
        done -> {
          client.written();
          progress.left();
          if (done.isSuccess()) {
            part.passed();
          }
          part.release();
        });
    client.flushSoon();
  }

  void end(Http2Headers trailers) {
    ChannelHandlerContext to = client.context();
    client
        .encoder()
        .writeHeaders(to, stream.id(), trailers, 0, true, to.newPromise())
        .addListener(done -> client.stopSending(stream));
    client.flushSoon();
  }

  /** Nothing more will come from a server. */
  void close() {
    if (passage != null) {
      passage.close();
    }
  }
}
