package dev.roundhouse.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.CombinedChannelDuplexHandler;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpRequestDecoder;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseEncoder;
import io.netty.handler.codec.http.HttpStatusClass;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;

/**
 * HTTP/1.1 of which no more is decoded than is taken: requests and parts of bodies are many times
 * larger as objects than as they were sent, so what has to wait, waits as it came. For the event
 * loop.
 */
final class RequestDecoder
    extends CombinedChannelDuplexHandler<HttpRequestDecoder, HttpResponseEncoder> {

  /** Of requests that have not been answered. */
  private final Queue<HttpMethod> methods = new ArrayDeque<>(2);

  private boolean paused;

  RequestDecoder(int maxHeadBytes) {
    HttpDecoderConfig config =
        new HttpDecoderConfig()
            .setMaxInitialLineLength(maxHeadBytes)
            .setMaxHeaderSize(maxHeadBytes)
            .setUseRfc9112TransferEncoding(true) // beside a length it is refused
            .setMaxChunkSize(Http1Server.READ_BYTES);
    init(new Requests(config), new Responses());
  }

  /** Nothing is decoded after the next part. */
  void pause() {
    paused = true;
    inboundHandler().setSingleDecode(true);
  }

  boolean isPaused() {
    return paused;
  }

  /**
   * Goes on with what has come, after what is done at the moment, which may be decoding.
   *
   * @param arrivals the context of what stands before
   */
  void resume(ChannelHandlerContext arrivals) {
    if (!paused) {
      return;
    }
    paused = false;
    inboundHandler().setSingleDecode(false);
    arrivals
        .executor()
        .execute(
            () -> {
              if (!paused && !arrivals.isRemoved()) {
                arrivals.fireChannelRead(Unpooled.EMPTY_BUFFER);
                arrivals.fireChannelReadComplete();
              }
            });
  }

  private final class Requests extends HttpRequestDecoder {
    Requests(HttpDecoderConfig config) {
      super(config);
    }

    @Override
    protected void decode(ChannelHandlerContext ctx, ByteBuf data, List<Object> out)
        throws Exception {
      int before = out.size();
      super.decode(ctx, data, out);
      for (int i = before; i < out.size(); i++) {
        if (out.get(i) instanceof HttpRequest head) {
          methods.add(head.method());
        }
      }
    }
  }

  /** Knows of each answer whether it is to HEAD, and has no body whatever it says. */
  private final class Responses extends HttpResponseEncoder {
    @Override
    protected boolean isContentAlwaysEmpty(HttpResponse head) {
      boolean last = head.status().codeClass() != HttpStatusClass.INFORMATIONAL;
      return (last && HttpMethod.HEAD.equals(methods.poll())) || super.isContentAlwaysEmpty(head);
    }
  }
}
