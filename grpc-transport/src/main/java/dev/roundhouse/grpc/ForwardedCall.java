package dev.roundhouse.grpc;

import dev.roundhouse.grpc.CallRouter.Route;
import dev.roundhouse.grpc.HeldMemory.Use;
import io.grpc.Decompressor;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.StatusRuntimeException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufInputStream;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Stream;
import io.netty.util.AsciiString;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A call that is sent on to another server, frame by frame: large parts are not copied, and a side
 * may send more when the other has taken what it sent. A server that cannot answer is followed by
 * another, as long as nothing of an answer has been passed on and the request is still here. On the
 * event loop of the client's connection.
 */
final class ForwardedCall implements StreamHandler, UpstreamConnection.Answers {
  private static final Logger log = LoggerFactory.getLogger(ForwardedCall.class);

  /** How much of a request is kept to be sent once more. */
  private static final int MOST_KEPT_BYTES = 4 << 20;

  /** As much of the first message as a router is shown. */
  private static final int MOST_SHOWN_BYTES = 1 << 16;

  private static final int PREFIX_BYTES = 5;
  private static final AsciiString TIMEOUT = AsciiString.cached("grpc-timeout");
  private static final AsciiString STATUS = AsciiString.cached("grpc-status");
  private static final AsciiString MESSAGE = AsciiString.cached("grpc-message");
  private static final String ENCODING = "grpc-encoding";

  private final Connection client;
  private final Http2Stream stream;
  private final String method;
  private final Http2Headers request;
  private final CallRouter router;
  private final UpstreamPool servers;
  private final HeldMemory memory;
  private final MessageBounds bounds;
  private final Passage requests;
  private final long endNanos;
  private final @Nullable ScheduledFuture<?> alarm;

  /** What has come of the request, as long as it may have to be sent again. */
  private final List<HeldPart> kept = new ArrayList<>(2);

  private int keptBytes;
  private boolean keeps = true;

  private boolean halfClosed;
  private final boolean asksOnce;
  private final StreamProgress progress = new StreamProgress();
  private @Nullable Route route;
  private UpstreamConnection.@Nullable Exchange exchange;

  /** Of the answer, once it comes. */
  private @Nullable Passage answer;

  /** What the answer begins with, until more of it comes. */
  private @Nullable Http2Headers begin;

  private boolean answered;

  /** The server has ended the call, or is not asked any more; parts of its answer may be here. */
  private boolean over;

  /** The client's stream is closed. */
  private boolean closed;

  ForwardedCall(
      Connection client,
      Http2Stream stream,
      String method,
      Http2Headers request,
      long timeoutNanos,
      ServerSettings.Forwarding forwarding) {
    this.client = client;
    this.stream = stream;
    this.method = method;
    this.request = request;
    router = forwarding.router();
    asksOnce = router.asksOnce(method);
    servers = forwarding.servers();
    memory = forwarding.memory();
    bounds = new MessageBounds(client.maxMessageBytes());
    requests =
        new Passage(memory, bounds, client.windowBytes(), asksOnce, new FromClient(), loop());
    endNanos = timeoutNanos == Long.MAX_VALUE ? timeoutNanos : System.nanoTime() + timeoutNanos;
    alarm =
        timeoutNanos == Long.MAX_VALUE
            ? null
            : loop().schedule(this::late, Math.max(0, timeoutNanos), TimeUnit.NANOSECONDS);
  }

  private EventLoop loop() {
    return client.context().channel().eventLoop();
  }

  // The request.

  @Override
  public int receive(ByteBuf data, int padding, boolean endOfStream) {
    int bytes = data.readableBytes() + padding;
    if (over) {
      return bytes;
    }
    client.steer(stream);
    halfClosed |= endOfStream;
    int before = requests.messages();
    HeldPart part;
    try {
      part = requests.arrived(data, exchange == null);
    } catch (StatusException e) {
      end(e.getStatus());
      return bytes;
    }
    if (endOfStream) {
      requests.close();
    }
    progress.completed(requests.messages() - before);
    progress.arrived(data.readableBytes());
    if (exchange != null) {
      exchange.send(part, endOfStream);
    }
    keep(part);
    if (exchange == null) {
      choose();
    }
    return bytes;
  }

  @Override
  public void endOfStream() {
    if (over) {
      return;
    }
    halfClosed = true;
    requests.close();
    if (exchange != null) {
      exchange.sendEnd();
    } else {
      choose();
    }
  }

  /**
   * Keeps part of the request for another server, if there is to be one.
   *
   * @param part one of its users is this
   */
  private void keep(HeldPart part) {
    keptBytes += part.bytes();
    boolean room = keptBytes <= MOST_KEPT_BYTES && memory.hasRoom(Use.KEEP);
    if (keeps && (exchange == null || room)) {
      kept.add(part);
    } else {
      part.release();
      forget();
    }
  }

  /** The request cannot be sent again from here on. */
  private void forget() {
    keeps = false;
    kept.forEach(HeldPart::release);
    kept.clear();
  }

  /** Finds a server by what has come. */
  private void choose() {
    ByteBuf have =
        Unpooled.wrappedBuffer(kept.stream().map(HeldPart::data).toArray(ByteBuf[]::new));
    if (have.readableBytes() < PREFIX_BYTES) {
      if (halfClosed) {
        end(Status.INVALID_ARGUMENT.withDescription("the call ended without a message"));
      }
      return;
    }
    boolean compressed = have.getByte(have.readerIndex()) != 0;
    long length = have.getUnsignedInt(have.readerIndex() + 1);
    int arrived = (int) Math.min(length, have.readableBytes() - PREFIX_BYTES);
    try {
      ByteBuf message = have.slice(have.readerIndex() + PREFIX_BYTES, arrived);
      ByteBuffer shown = compressed ? uncompressed(message) : view(message);
      boolean more = arrived < length && shown.remaining() < MOST_SHOWN_BYTES && !halfClosed;
      Route found = router.route(method, shown, more);
      if (found != null) {
        begin(found);
      } else if (!more) {
        end(Status.INVALID_ARGUMENT.withDescription("the message does not say where it is to go"));
      }
    } catch (StatusException e) {
      end(e.getStatus());
    } catch (StatusRuntimeException e) {
      end(e.getStatus());
    } catch (Throwable e) {
      log.error("{} cannot be sent on", method, e);
      end(Status.INTERNAL.withDescription("the call cannot be sent on"));
    }
  }

  private static ByteBuffer view(ByteBuf message) {
    int length = Math.min(message.readableBytes(), MOST_SHOWN_BYTES);
    if (message.nioBufferCount() == 1) {
      return message.nioBuffer(message.readerIndex(), length).asReadOnlyBuffer();
    }
    byte[] copy = new byte[length];
    message.getBytes(message.readerIndex(), copy);
    return ByteBuffer.wrap(copy).asReadOnlyBuffer();
  }

  /** As much of a message as comes out of what has arrived of it. */
  private ByteBuffer uncompressed(ByteBuf message) throws StatusException {
    Decompressor with = client.headers().decompressor(HeaderCodec.only(ENCODING, request));
    if (with == null) {
      throw Status.INTERNAL
          .withDescription("Can't decode compressed gRPC message as compression not configured")
          .asException();
    }
    byte[] out = new byte[MOST_SHOWN_BYTES];
    int length = 0;
    try (InputStream in = with.decompress(new ByteBufInputStream(message))) {
      for (int more = 0; more >= 0 && length < out.length; length += Math.max(0, more)) {
        more = in.read(out, length, out.length - length);
      }
    } catch (EOFException e) {
      // The rest has not arrived.
    } catch (IOException e) {
      throw Status.INVALID_ARGUMENT
          .withDescription(
              "the message is not compressed by %s: %s"
                  .formatted(with.getMessageEncoding(), e.getMessage()))
          .asException();
    }
    return ByteBuffer.wrap(out, 0, length).asReadOnlyBuffer();
  }

  /** Sends what is here to a server, and from then on what comes. */
  private void begin(Route to) {
    route = to;
    long left = endNanos == Long.MAX_VALUE ? endNanos : endNanos - System.nanoTime();
    if (left <= 0) {
      late();
      return;
    }
    UpstreamConnection connection = servers.connection(loop(), to.address());
    UpstreamConnection.Exchange opened = connection.open(this, headers(connection, left));
    exchange = opened;
    for (int i = 0; i < kept.size(); i++) {
      opened.send(kept.get(i), halfClosed && i == kept.size() - 1);
    }
  }

  private Http2Headers headers(UpstreamConnection to, long leftNanos) {
    Http2Headers headers = new DefaultHttp2Headers(false, request.size() + 1);
    headers
        .method(request.method())
        .scheme(to.scheme())
        .authority(to.authority())
        .path(request.path());
    for (Map.Entry<CharSequence, CharSequence> field : request) {
      CharSequence name = field.getKey();
      if (name.length() > 0 && name.charAt(0) != ':' && !TIMEOUT.contentEquals(name)) {
        headers.add(name, field.getValue());
      }
    }
    if (leftNanos != Long.MAX_VALUE) {
      headers.set(TIMEOUT, GrpcTimeout.text(leftNanos));
    }
    return headers;
  }

  private final class FromClient implements Passage.Window {
    @Override
    public int bytes() {
      return client.window(stream);
    }

    @Override
    public void open(int bytes) {
      client.openWindow(stream, bytes);
    }
  }

  /** What the server does not take is no fault of the client's. */
  @Override
  public boolean endIfArrivalStalled(long nowNanos, long timeoutNanos) {
    boolean awaited = bounds.isWithinMessage() || (asksOnce && !halfClosed);
    awaited &= !over && (exchange == null || !requests.holdsUp());
    if (!progress.hasArrivalStalled(awaited, nowNanos, timeoutNanos)) {
      return false;
    }
    end(
        Status.DEADLINE_EXCEEDED.withDescription(
            "a message has stopped arriving: " + bounds.progress()));
    return true;
  }

  @Override
  public boolean endIfDepartureStalled(long nowNanos, long timeoutNanos) {
    if (closed) {
      return false;
    }
    long sent = client.sentLessCredit(stream);
    if (!progress.hasDepartureStalled(sent, nowNanos, timeoutNanos)) {
      return false;
    }
    giveUp(Status.CANCELLED.withDescription("the client does not read the answer"));
    client.reset(stream, Http2Error.ENHANCE_YOUR_CALM);
    return true;
  }

  @Override
  public void allowed(int bytes) {
    progress.allowed(bytes);
  }

  // The answer.

  @Override
  public void onHeaders(Http2Headers headers) {
    begin = headers;
  }

  @Override
  public void onData(ByteBuf data, boolean last) {
    UpstreamConnection.Exchange from = exchange;
    if (over || from == null) {
      return;
    }
    Passage passage = answer;
    if (passage == null) {
      MessageBounds its = new MessageBounds(Integer.MAX_VALUE);
      passage = new Passage(memory, its, client.windowBytes(), false, from.window(), loop());
      answer = passage;
    }
    HeldPart part;
    try {
      part = passage.arrived(data, false);
    } catch (StatusException e) {
      end(e.getStatus());
      return;
    }
    if (last) {
      passage.close();
    }
    passBegin();
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

  private void passBegin() {
    Http2Headers first = begin;
    if (first != null) {
      begin = null;
      answered = true;
      forget();
      ChannelHandlerContext to = client.context();
      client.encoder().writeHeaders(to, stream.id(), first, 0, false, to.newPromise());
    }
  }

  @Override
  public void onTrailers(Http2Headers trailers) {
    Status status = status(trailers);
    if (over || tryAnother(status)) {
      return;
    }
    passBegin();
    finish(status);
    write(trailers);
  }

  @Override
  public void onLost(Status status) {
    if (!over && !tryAnother(status)) {
      end(status);
    }
  }

  private boolean tryAnother(Status status) {
    Route failed = route;
    if (status.isOk() || answered || !keeps || failed == null) {
      return false;
    }
    try {
      Route other = failed.other(status);
      if (other == null) {
        return false;
      }
      this.begin = null;
      exchange = null;
      begin(other);
    } catch (Throwable e) {
      log.error("{} cannot be sent on", method, e);
      end(Status.INTERNAL.withDescription("the call cannot be sent on"));
    }
    return true;
  }

  private static Status status(Http2Headers trailers) {
    CharSequence code = trailers.get(STATUS);
    if (code == null) {
      return Status.UNKNOWN.withDescription("the server has given no status");
    }
    try {
      Status status = Status.fromCodeValue(Integer.parseInt(code.toString()));
      CharSequence message = trailers.get(MESSAGE);
      return message == null ? status : status.withDescription(message.toString());
    } catch (NumberFormatException e) {
      return Status.UNKNOWN.withDescription("the server's status is '" + code + "'");
    }
  }

  // How it ends.

  private void late() {
    Status status = Status.DEADLINE_EXCEEDED.withDescription("the call's deadline has passed");
    if (closed || !progress.isLeaving()) {
      end(status);
    } else {
      giveUp(status);
      client.reset(stream, Http2Error.CANCEL); // the client has given up too
    }
  }

  /** Ends the call in the place of a server. */
  private void end(Status status) {
    if (!over) {
      giveUp(status);
      write(client.headers().end(status, new Metadata(), !answered));
    }
  }

  /** Asks the server no more. */
  private void giveUp(Status status) {
    UpstreamConnection.Exchange at = exchange;
    if (!over) {
      finish(status);
    }
    if (at != null) {
      at.cancel();
    }
  }

  private void write(Http2Headers trailers) {
    ChannelHandlerContext to = client.context();
    client
        .encoder()
        .writeHeaders(to, stream.id(), trailers, 0, true, to.newPromise())
        .addListener(done -> client.stopSending(stream));
    client.flushSoon();
  }

  @Override
  public void streamClosed() {
    closed = true;
    if (alarm != null) {
      alarm.cancel(false);
    }
    giveUp(Status.CANCELLED.withDescription("the client has ended the call"));
  }

  private void finish(Status status) {
    over = true;
    forget();
    requests.close();
    if (answer != null) {
      answer.close();
    }
    Route last = route;
    if (last != null) {
      route = null;
      try {
        last.ended(status);
      } catch (Throwable e) {
        log.error("the end of {} could not be noted", method, e);
      }
    }
  }
}
