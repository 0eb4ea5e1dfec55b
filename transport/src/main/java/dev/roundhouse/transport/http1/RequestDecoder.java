package dev.roundhouse.transport.http1;

import dev.roundhouse.transport.io.PartSizes;
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
 * Decodes HTTP/1.1 only as far as it is consumed: decoded requests and body parts are many times
 * larger than on the wire, so what has to wait stays undecoded. For the event loop.
 */
final class RequestDecoder
    extends CombinedChannelDuplexHandler<HttpRequestDecoder, HttpResponseEncoder> {

  /** A buffer of this size may be kept for any few bytes. */
  private static final int SMALL_BYTES = 4 << 10;

  /** How many times larger than its content a kept buffer may be. */
  private static final int SPARE = 4;

  /** Methods of unanswered requests. */
  private final Queue<HttpMethod> methods = new ArrayDeque<>(2);

  private boolean paused;

  /** Bytes decoded of an incomplete head, or of the latest head. */
  private long decodedBytes;

  private long headBytes;

  RequestDecoder(int maxHeadBytes) {
    HttpDecoderConfig config =
        new HttpDecoderConfig()
            .setMaxInitialLineLength(maxHeadBytes)
            .setMaxHeaderSize(maxHeadBytes)
            .setUseRfc9112TransferEncoding(true) // refused beside a length
            .setMaxChunkSize(PartSizes.READ_BYTES);
    init(new Requests(config), new Responses());
  }

  /** Decodes nothing after the next part. */
  void pause() {
    paused = true;
    inboundHandler().setSingleDecode(true);
  }

  boolean isPaused() {
    return paused;
  }

  /**
   * Resumes decoding after the current task, which may be decoding.
   *
   * @param arrivals the context of the handler before this one
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

  /** Size of the latest head, as received. */
  long headBytes() {
    return headBytes;
  }

  /** Size of the buffer kept for undecoded bytes; 0 when there are none. */
  int keptBufferBytes() {
    return ((Requests) inboundHandler()).kept().capacity();
  }

  /**
   * Moves the few bytes kept of a large buffer to one of their size. Call after a read: most bytes
   * are decoded at once and need no copy.
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

  /** Remembers which answers are to HEAD and so have no body. */
  private final class Responses extends HttpResponseEncoder {
    @Override
    protected boolean isContentAlwaysEmpty(HttpResponse head) {
      boolean last = head.status().codeClass() != HttpStatusClass.INFORMATIONAL;
      return (last && HttpMethod.HEAD.equals(methods.poll())) || super.isContentAlwaysEmpty(head);
    }
  }
}
