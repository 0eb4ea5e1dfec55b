package dev.roundhouse.transport.http1;

import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.Kept;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.FixedRecvByteBufAllocator;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.socket.nio.NioDomainSocketChannel;
import io.netty.channel.unix.DomainSocketAddress;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpStatusClass;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.ReferenceCountUtil;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hands a client's requests to the server behind, by a connection that is the client's alone, and
 * its answers back. Neither side is read faster than the other reads. For the event loop.
 */
final class Bridge implements Exchange {
  private static final Logger log = LoggerFactory.getLogger(Bridge.class);
  private static final int BAD_REQUEST = 400;
  private static final int UNAVAILABLE = 503;
  private static final int NO_CONTENT = 204;
  private static final int NOT_MODIFIED = 304;

  /** What one end of a connection tells the other, and no more. */
  private static final List<CharSequence> OF_CONNECTION =
      List.of(
          HttpHeaderNames.CONNECTION,
          "keep-alive",
          HttpHeaderNames.PROXY_CONNECTION,
          HttpHeaderNames.TE,
          HttpHeaderNames.UPGRADE,
          HttpHeaderNames.EXPECT);

  /**
   * What the connection to the server behind takes on both sides: handlers, buffers, and that
   * server's own, which it keeps for the next request.
   */
  private static final long BEHIND_BYTES = 40 << 10;

  /** Of an answer, at most, while the client does not read: what may be written, and one read. */
  private static final long UNREAD_BYTES = 128 << 10;

  private static final Seldom WARNING = new Seldom();

  private final Http1Connection connection;
  private final ConnectionMemory memory;

  /** Of the request, until there is a connection to write it to. */
  private final Queue<Object> waiting = new ArrayDeque<>();

  private @Nullable Channel behind;
  private @Nullable HttpRequest request;
  private boolean connecting;

  /** The server behind closes its connection after this answer. */
  private boolean lastOfBehind;

  private boolean keepAlive;
  private boolean received;
  private boolean answering;

  /** The last of the answer has come; and has left to the client. */
  private boolean answered;

  private boolean sent;

  /** What comes belongs to an answer that is not the final one. */
  private boolean informational;

  private boolean closed;

  /** Bytes counted since the client does not read. */
  private long unreadBytes;

  Bridge(Http1Connection connection) {
    this.connection = connection;
    memory = connection.memory();
  }

  /** Begins to hand a request on. */
  Exchange begin(HttpRequest head) {
    request = head;
    keepAlive = connection.keepsAlive(head);
    received = false;
    answering = false;
    answered = false;
    sent = false;
    lastOfBehind = false;
    if (behind == null && !connecting) {
      String full = memory.take(Kept.CONNECTION, BEHIND_BYTES);
      if (full != null) {
        keepAlive = false;
        received = true;
        refuse(BodyAssembly.TOO_MANY, full);
        return this;
      }
      connect();
    }
    HttpRequest forwarded =
        new DefaultHttpRequest(
            head.protocolVersion(), head.method(), head.uri(), head.headers().copy());
    withoutOwn(forwarded.headers());
    forwarded.headers().set(connection.settings().clientHeader(), connection.clientAddress());
    Replies.connection(forwarded.headers(), head.protocolVersion(), true);
    send(forwarded);
    return this;
  }

  private static void withoutOwn(HttpHeaders headers) {
    for (String named : headers.getAllAsString(HttpHeaderNames.CONNECTION)) {
      for (String name : named.split(",")) {
        String own = name.strip();
        if (!own.isEmpty()
            && !HttpHeaderNames.TRANSFER_ENCODING.contentEqualsIgnoreCase(own)
            && !HttpHeaderNames.CONTENT_LENGTH.contentEqualsIgnoreCase(own)) {
          headers.remove(own);
        }
      }
    }
    OF_CONNECTION.forEach(headers::remove);
  }

  private void connect() {
    connecting = true;
    boolean epoll = Epoll.isAvailable();
    Path path = connection.settings().behind();
    SocketAddress address =
        epoll ? new DomainSocketAddress(path.toFile()) : UnixDomainSocketAddress.of(path);
    ChannelFuture connected =
        new Bootstrap()
            .group(connection.context().channel().eventLoop())
            .channel(epoll ? EpollDomainSocketChannel.class : NioDomainSocketChannel.class)
            .option(
                ChannelOption.RECVBUF_ALLOCATOR,
                new FixedRecvByteBufAllocator(Http1Server.READ_BYTES))
            .handler(
                new ChannelInitializer<Channel>() {
                  @Override
                  protected void initChannel(Channel channel) {
                    channel.pipeline().addLast(new HttpClientCodec(), new Answers());
                  }
                })
            .connect(address);
    connected.addListener(done -> connected(connected));
  }

  private void connected(ChannelFuture done) {
    connecting = false;
    if (done.isSuccess()) {
      done.channel()
          .closeFuture()
          .addListener(over -> memory.giveBack(Kept.CONNECTION, BEHIND_BYTES));
    } else {
      memory.giveBack(Kept.CONNECTION, BEHIND_BYTES);
    }
    if (closed) {
      done.channel().close();
      return;
    }
    if (!done.isSuccess()) {
      if (connection.mayStayOpen() && WARNING.isTime()) {
        log.warn("there is no connection to the server behind", done.cause());
      }
      drop();
      fail();
      return;
    }
    Channel channel = done.channel();
    behind = channel;
    while (!waiting.isEmpty()) {
      channel.write(waiting.remove());
    }
    channel.flush();
    pace();
  }

  /** Hands on what is taken. */
  private void send(Object part) {
    Channel channel = behind;
    if (channel == null) {
      waiting.add(part);
    } else {
      channel.writeAndFlush(part);
    }
    pace();
  }

  /** Has the client be read as fast as the server behind reads. */
  private void pace() {
    if (!received) {
      connection.readOn(behind != null && behind.isWritable());
    }
  }

  @Override
  public void content(HttpContent content) {
    if (behind == null && !connecting) {
      content.release(); // it is gone; the connection is about to end
      return;
    }
    boolean malformed = content.decoderResult().isFailure();
    received = malformed || content instanceof LastHttpContent;
    if (malformed) {
      keepAlive = false;
      content.release();
      close();
      if (!answering) {
        refuse(BAD_REQUEST, "the request's body is malformed: " + content.decoderResult().cause());
      } else {
        connection.close();
      }
      return;
    }
    send(content);
    if (received) {
      connection.readOn(true);
      finish();
    }
  }

  @Override
  public boolean isReceived() {
    return received;
  }

  @Override
  public boolean isAnswering() {
    return answering;
  }

  @Override
  public void gone() {
    close();
  }

  /** The server behind says so itself: it waits for the body too. */
  @Override
  public void stalled(String text) {}

  /** Also while another answers. */
  @Override
  public void clientWritable(boolean writable) {
    long bytes = writable || closed ? 0 : UNREAD_BYTES;
    if (bytes > unreadBytes) {
      memory.add(Kept.ANSWER, bytes);
    } else if (bytes < unreadBytes) {
      memory.giveBack(Kept.ANSWER, unreadBytes);
    }
    unreadBytes = bytes;
    if (behind != null) {
      behind.config().setAutoRead(writable);
    }
  }

  /** Ends the connection to the server behind. */
  void close() {
    closed = true;
    drop();
    memory.giveBack(Kept.ANSWER, unreadBytes);
    unreadBytes = 0;
    if (behind != null) {
      behind.close();
    }
  }

  private void drop() {
    while (!waiting.isEmpty()) {
      ReferenceCountUtil.release(waiting.remove());
    }
  }

  private void fail() {
    keepAlive = false;
    received = true;
    if (answering) {
      connection.close(); // nobody should take a part for the whole
    } else {
      boolean ending = !connection.mayStayOpen();
      refuse(
          UNAVAILABLE,
          ending ? "Server exiting" : "the request could not be handed on; retry later");
    }
  }

  private void refuse(int code, String text) {
    answering = true;
    connection.refuse(code, text, false).addListener(written -> connection.close());
  }

  private void finish() {
    if (sent && (received || !keepAlive)) {
      request = null;
      if (lastOfBehind && behind != null) {
        behind.close();
        behind = null;
      }
      connection.done(keepAlive);
    }
  }

  private void answer(HttpObject part) {
    HttpRequest asked = request;
    if (asked == null || answered) {
      ReferenceCountUtil.release(part);
      return;
    }
    if (part instanceof HttpResponse head) {
      informational = head.status().codeClass() == HttpStatusClass.INFORMATIONAL;
    }
    if (informational) {
      ReferenceCountUtil.release(part);
      return;
    }
    if (part instanceof HttpResponse head) {
      answering = true;
      lastOfBehind = !HttpUtil.isKeepAlive(head);
      withoutOwn(head.headers());
      keepAlive &= hasEnd(head, asked) && connection.mayStayOpen();
      Replies.connection(head.headers(), asked.protocolVersion(), keepAlive);
    }
    ChannelFuture written = connection.context().write(part);
    if (part instanceof LastHttpContent) {
      answered = true;
      written.addListener(
          left -> {
            sent = true;
            keepAlive &= left.isSuccess();
            finish();
          });
    }
  }

  /** False when only the end of the connection ends the answer. */
  private static boolean hasEnd(HttpResponse head, HttpRequest asked) {
    int code = head.status().code();
    return HttpUtil.isContentLengthSet(head)
        || HttpUtil.isTransferEncodingChunked(head)
        || asked.method().equals(HttpMethod.HEAD)
        || code == NO_CONTENT
        || code == NOT_MODIFIED;
  }

  /** What the server behind answers. */
  private final class Answers extends ChannelInboundHandlerAdapter {
    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
      if (ctx.channel() == behind) {
        answer((HttpObject) message);
      } else {
        ReferenceCountUtil.release(message);
      }
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
      connection.context().flush();
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext ctx) {
      pace();
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
      if (ctx.channel() != behind) {
        return; // another has taken its place
      }
      behind = null;
      if (closed || request == null) {
        return;
      }
      if (answered) {
        keepAlive = false; // what is still to come of the request is not wanted
        finish();
        return;
      }
      fail();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
      log.debug("the connection to the server behind has failed", cause);
      ctx.close();
    }
  }
}
