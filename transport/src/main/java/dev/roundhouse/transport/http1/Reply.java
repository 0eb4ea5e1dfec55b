package dev.roundhouse.transport.http1;

import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.Kept;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultHttpHeadersFactory;
import io.netty.handler.codec.http.DefaultHttpResponse;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * The reply to one request. Used by one thread at a time, which may change. On the connection's
 * event loop nothing blocks, so what is written there must be bounded, or lent; other threads wait
 * while the client does not read.
 */
public final class Reply {
  private static final int OK = 200;
  private static final int FIRST_BYTES = 512;
  private static final int PIECE_BYTES = 32 << 10;

  private final LocalExchange exchange;
  private final ChannelHandlerContext ctx;
  private final ConnectionMemory memory;
  private final HttpVersion version;
  private final HttpHeaders headers = DefaultHttpHeadersFactory.headersFactory().newHeaders();
  private final Body body = new Body();
  private boolean keepAlive;
  private int code = OK;
  private long length = -1;
  private boolean begun;
  private @Nullable ByteBuf piece;

  /** The last write but one from a thread other than the event loop. */
  private @Nullable ChannelFuture before;

  private @Nullable ChannelFuture last;

  /** Bytes written on the event loop that are counted nowhere else. */
  private long copied = Replies.HEAD_BYTES;

  /** Nothing can be written any more. */
  private volatile boolean gone;

  /**
   * @param memory counts what the client has not read, unless lent
   * @param version of the request
   */
  Reply(
      LocalExchange exchange,
      ChannelHandlerContext ctx,
      ConnectionMemory memory,
      HttpVersion version,
      boolean keepAlive) {
    this.exchange = exchange;
    this.ctx = ctx;
    this.memory = memory;
    this.version = version;
    this.keepAlive = keepAlive;
  }

  /** Runs a task on the connection's event loop, or here when that has ended. Any thread. */
  public void execute(Runnable task) {
    try {
      ctx.executor().execute(task);
    } catch (RejectedExecutionException e) {
      gone = true;
      task.run();
    }
  }

  /** True when the client is gone. Any thread. */
  public boolean isGone() {
    return gone;
  }

  void lose() {
    gone = true;
  }

  /** The HTTP status; 200 by default. Before the body. */
  public void status(int code) {
    this.code = code;
  }

  /** Before the body. */
  public void header(String name, String value) {
    headers.set(name, value);
  }

  /** The length of the body; call before the body. Without it the body is chunked. */
  public void length(long bytes) {
    length = bytes;
  }

  /** True when part of the reply may have been sent. */
  public boolean hasBegun() {
    return begun;
  }

  /** Copies what is written; closing it has no effect. */
  public OutputStream body() {
    return body;
  }

  /**
   * Sends what has been written so far; not on the event loop.
   *
   * @throws IOException when the client is gone
   */
  public void flush() throws IOException {
    body.send();
  }

  /**
   * The next part of the body, without a copy.
   *
   * @param bytes from position to limit, unchanged until the reply has ended
   * @throws IOException when the client is gone
   */
  public void lend(ByteBuffer bytes) throws IOException {
    if (bytes.remaining() <= FIRST_BYTES) {
      body.copy(bytes.duplicate());
    } else {
      body.send();
      write(Unpooled.wrappedBuffer(bytes), 0);
    }
  }

  /**
   * Ends the reply.
   *
   * @param sent run when the last byte has been sent or never will be, on the event loop unless
   *     that has ended
   */
  public void end(Runnable sent) {
    ByteBuf rest = piece;
    piece = null;
    if (gone) {
      release(rest);
      execute(
          () -> {
            sent.run();
            exchange.answered(false);
          });
      return;
    }
    if (!begun) {
      length = rest == null ? 0 : rest.readableBytes();
      begin();
    }
    LastHttpContent end =
        rest == null ? LastHttpContent.EMPTY_LAST_CONTENT : new DefaultLastHttpContent(rest);
    long unread = copied + (rest == null ? 0 : rest.capacity());
    ChannelFuture left = ctx.writeAndFlush(end);
    countUntil(left, unread);
    left.addListener(
        written -> {
          sent.run();
          exchange.answered(written.isSuccess() && keepAlive);
        });
  }

  /** Counts what could not be sent at once. */
  private void countUntil(ChannelFuture left, long bytes) {
    if (!left.isDone() && bytes > 0) {
      memory.add(Kept.ANSWER, bytes);
      left.addListener(done -> memory.giveBack(Kept.ANSWER, bytes));
    }
  }

  /** Discards what was set and written; nothing may have been sent. */
  public void reset() {
    if (begun) {
      throw new IllegalStateException("part of the reply has been sent");
    }
    release(piece);
    piece = null;
    headers.clear();
    code = OK;
    length = -1;
  }

  /**
   * Closes the connection: a part must not be taken for the whole.
   *
   * @param over run when lent bytes are no longer used, on the event loop unless that has ended
   */
  public void abort(Runnable over) {
    release(piece);
    piece = null;
    gone = true;
    execute(
        () ->
            ctx.close()
                .addListener(
                    closed -> {
                      over.run();
                      exchange.answered(false);
                    }));
  }

  private static void release(@Nullable ByteBuf part) {
    if (part != null) {
      part.release();
    }
  }

  private void begin() {
    begun = true;
    keepAlive &= exchange.mayStayOpen();
    if (length >= 0) {
      headers.set(Replies.CONTENT_LENGTH, length);
    } else if (version.isKeepAliveDefault()) {
      headers.set(Replies.TRANSFER_ENCODING, HttpHeaderValues.CHUNKED);
    } else {
      keepAlive = false; // before HTTP/1.1 the body ends with the connection
    }
    Replies.common(headers, version, keepAlive);
    HttpResponse head =
        new DefaultHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.valueOf(code), headers);
    ctx.write(head);
  }

  /**
   * @param bytes of it that are counted nowhere else
   */
  private void write(ByteBuf data, int bytes) throws IOException {
    if (gone) {
      data.release();
      throw new IOException("the client has gone");
    }
    if (!begun) {
      begin();
    }
    if (ctx.executor().inEventLoop()) {
      copied += bytes;
      ctx.write(new DefaultHttpContent(data));
      return;
    }
    ChannelFuture written = ctx.writeAndFlush(new DefaultHttpContent(data));
    countUntil(written, bytes);
    if (before != null && !before.awaitUninterruptibly().isSuccess()) {
      throw new IOException("the client has gone", before.cause());
    }
    before = last;
    last = written;
  }

  /** Combines small writes. */
  private final class Body extends OutputStream {
    @Override
    public void write(int value) throws IOException {
      room().writeByte(value);
    }

    @Override
    public void write(byte[] from, int offset, int count) throws IOException {
      copy(ByteBuffer.wrap(from, offset, count));
    }

    /** Reads all the bytes. */
    void copy(ByteBuffer bytes) throws IOException {
      while (bytes.hasRemaining()) {
        ByteBuf to = room();
        int count = Math.min(bytes.remaining(), to.maxWritableBytes());
        to.writeBytes(bytes.slice(bytes.position(), count));
        bytes.position(bytes.position() + count);
      }
    }

    private ByteBuf room() throws IOException {
      if (piece != null && piece.maxWritableBytes() == 0) {
        send();
      }
      ByteBuf current = piece;
      if (current == null) {
        current = ctx.alloc().directBuffer(FIRST_BYTES, PIECE_BYTES);
        piece = current;
      }
      return current;
    }

    void send() throws IOException {
      ByteBuf full = piece;
      if (full != null) {
        piece = null;
        Reply.this.write(full, full.capacity());
      }
    }
  }
}
