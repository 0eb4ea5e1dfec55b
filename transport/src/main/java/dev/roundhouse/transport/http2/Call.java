package dev.roundhouse.transport.http2;

import dev.roundhouse.transport.io.StreamProgress;
import io.grpc.Attributes;
import io.grpc.Codec;
import io.grpc.Compressor;
import io.grpc.Context;
import io.grpc.Decompressor;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.SecurityLevel;
import io.grpc.ServerCall;
import io.grpc.ServerMethodDefinition;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.StatusRuntimeException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Stream;
import java.util.ArrayDeque;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One call: hands what arrives to the service's listener, on the connection's event loop, and takes
 * its answers from any thread, one at a time.
 */
final class Call<Q, R> extends ServerCall<Q, R> implements StreamHandler {
  private static final Logger log = LoggerFactory.getLogger(Call.class);

  /** A call with more bytes on their way than this is not ready for more. */
  private static final int READY_BYTES = 1 << 15;

  /** What is uncompressed at once on the event loop; of what is more, the rest has its turns. */
  private static final int INFLATED_AT_ONCE = 1 << 14;

  /** A turn of what is uncompressed: about a millisecond. */
  private static final int INFLATED_IN_TURN = 1 << 19;

  private final Connection connection;
  private final Http2Stream stream;
  private final MethodDescriptor<Q, R> method;
  private final boolean unaryRequest;
  private final boolean unaryResponse;
  private final Headers headers;
  private final Context.CancellableContext context;
  private final MessageAssembly assembly;
  private final @Nullable Decompressor decompressor;

  // Of the event loop.
  private ServerCall.@Nullable Listener<Q> listener;
  private @Nullable ArrayDeque<Waiting> backlog;

  /** A message that is being uncompressed; those behind it wait. */
  private boolean inflating;

  /** The only message of the request, of which the service has been told. */
  private @Nullable ReceivedMessage single;

  private long requested;
  private int unconsumed;
  private int handed;
  private int answered;
  private final StreamProgress progress = new StreamProgress();
  private boolean halfClosed;
  private boolean halfCloseTold;
  private boolean headersWritten;
  private boolean trailersWritten;
  private boolean gone;

  /** The stream is being reset. */
  private boolean givenUp;

  /** The call was ended with it in the place of the service, which has not been told. */
  private @Nullable Status endsWith;

  private boolean told;

  // Of whoever answers.
  private @Nullable Http2Headers pendingHeaders;

  /** The only message of an answer whose status has not been given yet. */
  private final AtomicReference<@Nullable ByteBuf> pendingMessage = new AtomicReference<>();

  private @Nullable Compressor compressor;
  private boolean compressMessages = true;
  private boolean headersSent;
  private boolean closed;

  /** Bytes of a streaming call that were sent and have not left. */
  private final AtomicInteger unsent = new AtomicInteger();

  private volatile boolean cancelled;

  /** What a client tells with its first headers. */
  record Headers(
      Metadata metadata, @Nullable String authority, @Nullable Decompressor decompressor) {}

  /** A message that nobody has asked for yet. */
  private record Waiting(ReceivedMessage message, boolean compressed) {}

  Call(
      Connection connection,
      Http2Stream stream,
      MethodDescriptor<Q, R> method,
      Headers headers,
      Context.CancellableContext context,
      MessageAssembly assembly) {
    this.connection = connection;
    this.stream = stream;
    this.method = method;
    this.headers = headers;
    this.context = context;
    this.assembly = assembly;
    unaryRequest = method.getType().clientSendsOneMessage();
    unaryResponse = method.getType().serverSendsOneMessage();
    decompressor = headers.decompressor();
  }

  // What arrives; on the event loop.

  void start(ServerMethodDefinition<Q, R> definition) {
    if (context.getDeadline() != null) {
      context.addListener(ended -> connection.later(this::endIfLate), Runnable::run);
    }
    Context previous = context.attach();
    try {
      listener = definition.getServerCallHandler().startCall(this, headers.metadata());
      if (!unaryResponse) {
        listener.onReady();
      }
    } catch (Throwable e) {
      failed(e);
    } finally {
      context.detach(previous);
    }
    deliver();
  }

  @Override
  public int receive(ByteBuf data, int padding, boolean endOfStream) {
    int bytes = data.readableBytes() + padding;
    if (told || trailersWritten) {
      return bytes;
    }
    progress.arrived(data.readableBytes());
    try {
      for (ReceivedMessage message = assembly.next(data);
          message != null;
          message = assembly.next(data)) {
        progress.completed(1);
        offer(message, assembly.isCompressed());
        if (told || trailersWritten) {
          return bytes;
        }
      }
      if (single != null && !endOfStream) {
        keep(single);
      }
    } catch (StatusException e) {
      end(e.getStatus());
      return bytes;
    }
    if (endOfStream) {
      endOfStream();
    }
    if (!isBehind()) {
      return bytes;
    }
    unconsumed += bytes;
    return 0;
  }

  /** True when messages wait: what has come is not counted as read, so that little more comes. */
  private boolean isBehind() {
    return inflating || (backlog != null && !backlog.isEmpty());
  }

  private static void keep(ReceivedMessage message) throws StatusException {
    String refusal = message.keep();
    if (refusal != null) {
      throw Status.RESOURCE_EXHAUSTED.withDescription(refusal).asException();
    }
  }

  @Override
  public void endOfStream() {
    if (assembly.isWithinMessage()) {
      end(Status.INTERNAL.withDescription("Encountered end-of-stream mid-frame"));
      return;
    }
    halfClosed = true;
    deliver();
  }

  /** What the client may not send because we do not read is ours. */
  @Override
  public boolean endIfArrivalStalled(long nowNanos, long timeoutNanos) {
    boolean awaited = assembly.isWithinMessage() || unaryRequest && !halfClosed;
    awaited &= unconsumed == 0 && !inflating && !told && !trailersWritten;
    if (!progress.hasArrivalStalled(awaited, nowNanos, timeoutNanos)) {
      return false;
    }
    end(
        Status.DEADLINE_EXCEEDED.withDescription(
            "a message has stopped arriving: " + assembly.progress()));
    return true;
  }

  @Override
  public boolean endIfDepartureStalled(long nowNanos, long timeoutNanos) {
    if (gone || givenUp) {
      return false;
    }
    long sent = connection.sentLessCredit(stream);
    if (!progress.hasDepartureStalled(sent, nowNanos, timeoutNanos)) {
      return false;
    }
    giveUp(Http2Error.ENHANCE_YOUR_CALM);
    return true;
  }

  @Override
  public void allowed(int bytes) {
    progress.allowed(bytes);
  }

  /** Of a stream that carries nothing and waits for nothing. */
  @Override
  public boolean endIfIdle(long nowNanos, long timeoutNanos) {
    boolean busy = halfClosed || isBehind() || assembly.isWithinMessage() || handed > answered;
    if (!progress.isIdle(busy || told || trailersWritten, nowNanos, timeoutNanos)) {
      return false;
    }
    end(StalledPeer.idle(timeoutNanos));
    return true;
  }

  private void offer(ReceivedMessage message, boolean compressed) throws StatusException {
    if (requested > 0 && listener != null && !isBehind()) {
      requested--;
      take(listener, message, compressed);
      return;
    }
    if (backlog == null) {
      backlog = new ArrayDeque<>(2);
    }
    backlog.add(new Waiting(message, compressed));
    keep(message);
  }

  private void deliver() {
    ServerCall.Listener<Q> to = listener;
    if (to == null || inflating) {
      return;
    }
    if (backlog != null) {
      while (requested > 0 && !backlog.isEmpty() && !told && !inflating) {
        requested--;
        Waiting waiting = backlog.remove();
        take(to, waiting.message(), waiting.compressed());
      }
      if (isBehind()) {
        return;
      }
    }
    if (halfClosed && !halfCloseTold && !told && !trailersWritten) {
      halfCloseTold = true;
      if (single != null) {
        single.letGo(); // the service counts what it takes, and must not find it counted already
      }
      Context previous = context.attach();
      try {
        to.onHalfClose();
      } catch (Throwable e) {
        failed(e);
      } finally {
        context.detach(previous);
        releaseSingle();
      }
    }
    if (unconsumed > 0) {
      int bytes = unconsumed;
      unconsumed = 0;
      connection.consume(stream, bytes);
    }
  }

  private void take(ServerCall.Listener<Q> to, ReceivedMessage message, boolean compressed) {
    if (compressed) {
      inflate(to, message);
    } else {
      hand(to, message);
    }
  }

  private void hand(ServerCall.Listener<Q> to, ReceivedMessage message) {
    Context previous = context.attach();
    try {
      handed++;
      Q parsed = method.parseRequest(message);
      if (!unaryRequest) {
        message.letGo();
      }
      to.onMessage(parsed);
    } catch (StatusRuntimeException e) {
      end(e.getStatus());
    } catch (Throwable e) {
      failed(e);
    } finally {
      context.detach(previous);
      if (unaryRequest && single == null && !told) {
        single = message; // the service acts on it when it hears that there is no other
      } else {
        message.letGo();
        message.release();
      }
    }
  }

  /** Small messages at once; of large ones the rest elsewhere, in turns. */
  private void inflate(ServerCall.Listener<Q> to, ReceivedMessage message) {
    if (decompressor == null) {
      message.letGo();
      message.release();
      end(
          Status.INTERNAL.withDescription(
              "Can't decode compressed gRPC message as compression not configured"));
      return;
    }
    Inflation inflation =
        new Inflation(
            message,
            decompressor,
            connection.memory(),
            connection.allocator(),
            connection.maxMessageBytes());
    try {
      String refusal = message.keep();
      if (refusal != null) {
        throw Status.RESOURCE_EXHAUSTED.withDescription(refusal).asException();
      }
      if (inflation.step(INFLATED_AT_ONCE)) {
        hand(to, inflation.finish());
        return;
      }
      inflating = true;
      if (!connection.inflate(() -> inflateInTurn(inflation))) {
        throw Status.UNAVAILABLE.withDescription("Server exiting").asException();
      }
    } catch (StatusException e) {
      inflation.close();
      end(e.getStatus());
    } catch (Throwable e) {
      inflation.close();
      failed(e);
    }
  }

  /** On a thread for that. */
  private boolean inflateInTurn(Inflation inflation) {
    Status failure = null;
    try {
      if (!cancelled && !inflation.step(INFLATED_IN_TURN)) {
        return false;
      }
      if (!cancelled) {
        ReceivedMessage whole = inflation.finish();
        if (!connection.later(() -> inflated(whole))) {
          whole.letGo();
          whole.release();
        }
        return true;
      }
    } catch (StatusException e) {
      failure = e.getStatus();
    } catch (Throwable e) {
      log.error("a message of {} could not be uncompressed", method.getFullMethodName(), e);
      failure = Status.INTERNAL.withDescription("the message could not be uncompressed");
    }
    inflation.close();
    Status told = failure;
    if (told != null) {
      connection.later(() -> end(told));
    }
    return true;
  }

  private void inflated(ReceivedMessage message) {
    inflating = false;
    ServerCall.Listener<Q> to = listener;
    if (to == null || told || trailersWritten) {
      message.letGo();
      message.release();
      return;
    }
    hand(to, message); // counted until it is let go, as it was uncompressed
    deliver();
  }

  @Override
  public void streamClosed() {
    if (gone) {
      return;
    }
    gone = true;
    dropReceived();
    if (!trailersWritten) {
      tellCancelled(Status.CANCELLED.withDescription("the client has ended the call"));
    }
  }

  private void endIfLate() {
    if (told || gone) {
      return;
    }
    if (progress.isLeaving()) {
      giveUp(Http2Error.CANCEL); // the client has given up too
    } else {
      end(Status.DEADLINE_EXCEEDED.withDescription("the call's deadline has passed"));
    }
  }

  /** Ends the call without a status; the service hears of it when nothing is held any more. */
  private void giveUp(Http2Error error) {
    cancelled = true;
    givenUp = true;
    connection.reset(stream, error);
  }

  private void releaseSingle() {
    ReceivedMessage message = single;
    if (message != null) {
      single = null;
      message.letGo();
      message.release();
    }
  }

  private void dropReceived() {
    assembly.close();
    releaseSingle();
    if (backlog != null) {
      backlog.forEach(
          waiting -> {
            waiting.message().letGo();
            waiting.message().release();
          });
      backlog.clear();
    }
  }

  /** A service that is told of the end may never give the status that the message waits for. */
  private void dropPending() {
    ByteBuf message = pendingMessage.getAndSet(null);
    if (message != null) {
      message.release();
    }
  }

  /**
   * Ends the call in the place of the service, which hears that first; or, when answers of it have
   * not left yet, after them: they are counted until then.
   */
  void end(Status status) {
    if (!progress.isLeaving() || gone) {
      tellCancelled(status);
    } else if (!trailersWritten) {
      cancelled = true;
      endsWith = status;
    }
    if (!trailersWritten && !gone) {
      connection.writeEnd(this, connection.headers().end(status, new Metadata(), !headersWritten));
    }
  }

  private void failed(Throwable thrown) {
    log.error("{} failed", method.getFullMethodName(), thrown);
    end(Status.UNKNOWN.withDescription("Application error processing RPC"));
  }

  private void tellCancelled(Status status) {
    if (told) {
      return;
    }
    told = true;
    cancelled = true;
    context.cancel(status.asRuntimeException());
    tell(ServerCall.Listener::onCancel);
    dropPending();
  }

  private void tellEnd() {
    if (endsWith != null) {
      tellCancelled(endsWith);
    }
    if (told) {
      return;
    }
    told = true;
    tell(ServerCall.Listener::onComplete);
    context.cancel(null);
  }

  private void tell(Consumer<ServerCall.Listener<Q>> what) {
    ServerCall.Listener<Q> to = listener;
    if (to == null) {
      return;
    }
    Context previous = context.attach();
    try {
      what.accept(to);
    } catch (Throwable e) {
      log.error("{} failed when it was told of its end", method.getFullMethodName(), e);
    } finally {
      context.detach(previous);
    }
  }

  // What is answered; by any thread.

  @Override
  public void request(int count) {
    if (connection.inEventLoop()) {
      requested += count;
      if (backlog != null && !backlog.isEmpty()) {
        connection.later(this::deliver); // the service may be in the middle of something
      }
    } else {
      connection.later(
          () -> {
            requested += count;
            deliver();
          });
    }
  }

  @Override
  public void sendHeaders(Metadata metadata) {
    if (headersSent) {
      throw new IllegalStateException("headers have been sent");
    }
    headersSent = true;
    Compressor chosen = compressor;
    if (chosen != null && !connection.headers().accepts(headers.metadata(), chosen)) {
      compressor = null;
    }
    Http2Headers first = connection.headers().begin(metadata, compressor);
    if (unaryResponse) {
      pendingHeaders = first;
    } else {
      connection.send(new Outbound(this, first, null, null));
    }
  }

  @Override
  public void sendMessage(R message) {
    if (!headersSent || closed) {
      throw new IllegalStateException(closed ? "the call is closed" : "no headers have been sent");
    }
    if (unaryResponse && pendingMessage.get() != null) {
      throw Status.INTERNAL.withDescription("Too many responses").asRuntimeException();
    }
    ByteBuf framed;
    try {
      framed =
          MessageFrame.of(
              connection.allocator(),
              method.streamResponse(message),
              compressMessages ? compressor : null);
    } catch (Throwable e) {
      closed = true;
      connection.later(
          () -> end(Status.INTERNAL.withDescription("the answer could not be written")));
      throw e;
    }
    if (unaryResponse) {
      pendingMessage.set(framed);
      if (cancelled) {
        dropPending(); // the call may have been ended before it was set
      }
    } else {
      unsent.addAndGet(framed.readableBytes());
      connection.send(new Outbound(this, null, framed, null));
    }
  }

  @Override
  public boolean isReady() {
    return !cancelled && !closed && unsent.get() < READY_BYTES;
  }

  @Override
  public void close(Status status, Metadata trailers) {
    if (closed) {
      return; // it was ended in its place
    }
    closed = true;
    ByteBuf message = pendingMessage.getAndSet(null);
    Status told = status;
    if (unaryResponse && status.isOk() && message == null) {
      told = Status.INTERNAL.withDescription("Completed without a response");
    }
    boolean first = unaryResponse ? !told.isOk() : !headersSent;
    if (message != null && first) {
      message.release();
      message = null;
    }
    connection.send(
        new Outbound(
            this,
            first ? null : pendingHeaders,
            message,
            connection.headers().end(told, trailers, first)));
  }

  @Override
  public boolean isCancelled() {
    return cancelled;
  }

  @Override
  public void setMessageCompression(boolean enabled) {
    compressMessages = enabled;
  }

  @Override
  public void setCompression(String name) {
    if (headersSent) {
      throw new IllegalStateException("headers have been sent");
    }
    Compressor found = connection.headers().compressor(name);
    if (found == null) {
      throw new IllegalArgumentException("there is no compression '" + name + "'");
    }
    compressor = found == Codec.Identity.NONE ? null : found;
  }

  @Override
  public Attributes getAttributes() {
    return connection.attributes();
  }

  @Override
  public @Nullable String getAuthority() {
    return headers.authority();
  }

  @Override
  public SecurityLevel getSecurityLevel() {
    return connection.isSecure() ? SecurityLevel.PRIVACY_AND_INTEGRITY : SecurityLevel.NONE;
  }

  @Override
  public MethodDescriptor<Q, R> getMethodDescriptor() {
    return method;
  }

  // What is written; on the event loop.

  /** Part of an answer on its way to the event loop. */
  record Outbound(
      Call<?, ?> call,
      @Nullable Http2Headers headers,
      @Nullable ByteBuf message,
      @Nullable Http2Headers trailers) {

    void drop() {
      if (message != null) {
        message.release();
      }
    }
  }

  void write(ChannelHandlerContext ctx, Outbound out) {
    if (gone || trailersWritten) {
      out.drop();
      return;
    }
    int id = stream.id();
    if (out.headers() != null) {
      headersWritten = true;
      connection.encoder().writeHeaders(ctx, id, out.headers(), 0, false, ctx.newPromise());
    }
    ByteBuf message = out.message();
    if (message != null) {
      ChannelPromise promise = ctx.newPromise();
      int bytes = message.readableBytes();
      connection.writing();
      answered++;
      progress.leaving();
      promise.addListener(done -> left(bytes));
      writeData(ctx, message, promise);
    }
    if (out.trailers() != null) {
      writeEnd(ctx, out.trailers());
    }
  }

  /** Parts of a message are written one after the other: cut to frames alone, they cost less. */
  private void writeData(ChannelHandlerContext ctx, ByteBuf message, ChannelPromise promise) {
    if (!(message instanceof CompositeByteBuf parts)) {
      connection.encoder().writeData(ctx, stream.id(), message, 0, false, promise);
      return;
    }
    int last = parts.numComponents() - 1;
    for (int i = 0; i <= last; i++) {
      connection
          .encoder()
          .writeData(
              ctx,
              stream.id(),
              parts.component(i).retain(),
              0,
              false,
              i == last ? promise : ctx.newPromise());
    }
    parts.release();
  }

  void writeEnd(ChannelHandlerContext ctx, Http2Headers trailers) {
    trailersWritten = true;
    dropReceived(); // the stream may stay for as long as its client does not read
    ChannelPromise promise = ctx.newPromise();
    long bytes = connection.keepEnd(trailers);
    connection.encoder().writeHeaders(ctx, stream.id(), trailers, 0, true, promise);
    promise.addListener(
        done -> {
          connection.endLeft(bytes);
          if (done.isSuccess()) {
            tellEnd();
            connection.stopSending(stream);
          } else {
            tellCancelled(Status.CANCELLED.withDescription("the answer could not be sent"));
          }
        });
  }

  private void left(int bytes) {
    connection.written();
    progress.left();
    if (unaryResponse) {
      return;
    }
    int before = unsent.getAndAdd(-bytes);
    if (before >= READY_BYTES && before - bytes < READY_BYTES && !told) {
      tell(ServerCall.Listener::onReady);
    }
  }

  Http2Stream stream() {
    return stream;
  }
}
