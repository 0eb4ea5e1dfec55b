package dev.roundhouse.transport.http1;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.CombinedChannelDuplexHandler;
import io.netty.handler.codec.ByteToMessageDecoder;
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

  /** A buffer that may be kept for however little. */
  private static final int SMALL_BYTES = 4 << 10;

  /** By how much a buffer may be larger than what is in it. */
  private static final int SPARE = 4;

  /** Of requests that have not been answered. */
  private final Queue<HttpMethod> methods = new ArrayDeque<>(2);

  private boolean paused;

  /** Decoded of a request whose head has not come whole; of the head that was decoded last. */
  private long decodedBytes;

  private long headBytes;

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

  /** Of the head that was decoded last, as it came. */
  long headBytes() {
    return headBytes;
  }

  /** Of the buffer that is kept for what has not been decoded; 0 when all has been. */
  int keptBufferBytes() {
    return ((Requests) inboundHandler()).kept().capacity();
  }

  /**
   * Moves the few bytes that are kept of a large buffer to one of their size. To be called when a
   * read is over, for most of what comes is decoded at once and need not be copied.
   *
   * @param arrivals as for {@link #resume}
   */
  void fit(ChannelHandlerContext arrivals) {
    ByteBuf kept = ((Requests) inboundHandler()).kept();
    boolean large = kept.capacity() > SMALL_BYTES;
    if (!paused && large && kept.capacity() / SPARE >= kept.readableBytes()) {
      arrivals.fireChannelRead(Unpooled.EMPTY_BUFFER);
    }
  }

  private static ByteBuf joined(ByteBufAllocator allocator, ByteBuf kept, ByteBuf next) {
    if (next.isReadable() || !kept.isReadable()) {
      return ByteToMessageDecoder.MERGE_CUMULATOR.cumulate(allocator, kept, next);
    }
    next.release();
    try {
      return allocator.directBuffer(kept.readableBytes()).writeBytes(kept);
    } finally {
      kept.release();
    }
  }

  private final class Requests extends HttpRequestDecoder {
    Requests(HttpDecoderConfig config) {
      super(config);
      setCumulator(RequestDecoder::joined);
    }

    ByteBuf kept() {
      return internalBuffer();
    }

    @Override
    protected void decode(ChannelHandlerContext ctx, ByteBuf data, List<Object> out)
        throws Exception {
      int before = out.size();
      int readable = data.readableBytes();
      super.decode(ctx, data, out);
      decodedBytes += readable - data.readableBytes();
      for (int i = before; i < out.size(); i++) {
        if (out.get(i) instanceof HttpRequest head) {
          methods.add(head.method());
          headBytes = decodedBytes;
        }
        decodedBytes = 0; // none of it belongs to the next head
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
