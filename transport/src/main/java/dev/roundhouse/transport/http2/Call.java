package dev.roundhouse.transport.http2;

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
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One call of a service: passes what a {@link ServerStream} receives to the service's listener, on
 * the connection's event loop, and takes its answers from any thread, one at a time.
 */
final class Call<Q, R> extends ServerCall<Q, R>
    implements StreamListener, ServerStream.Departure, RequestMessages.Owner {
  private static final Logger log = LoggerFactory.getLogger(Call.class);

  /** A call with more unsent bytes than this is not ready for more. */
  private static final int READY_BYTES = 1 << 15;

  /** Shared by all calls whose answer is one message. */
  private static final AtomicInteger NOTHING_UNSENT = new AtomicInteger();

  private final Connection connection;
  private final ServerStream stream;
  private final MethodDescriptor<Q, R> method;
  private final boolean unaryResponse;
  private final Metadata metadata;
  private final @Nullable String authority;
  private final Context.CancellableContext context;
  private final ServiceListener<Q> service;
  private final RequestMessages<Q> request;

  // On the event loop.
  /** Messages of the answer written so far. */
  private int answered;

  /** The transport has ended the call with it; the service has not been told. */
  private @Nullable Status endsWith;

  // For the answering thread.
  private Answer answer = Answer.NONE;
  private @Nullable Http2Headers pendingHeaders;

  /** The only message of an answer, until its status is given. */
  private final AtomicReference<@Nullable ByteBuf> pendingMessage = new AtomicReference<>();

  private @Nullable Compressor compressor;
  private boolean compressMessages = true;

  /** Bytes of a streaming answer not sent yet. */
  private final AtomicInteger unsent;

  private volatile boolean cancelled;

  /** What the service has given of its answer. */
  private enum Answer {
    NONE,
    HEADERS,
    STATUS
  }

  Call(
      ServerStream stream,
      MethodDescriptor<Q, R> method,
      Metadata metadata,
      @Nullable String authority,
      @Nullable Decompressor decompressor,
      Context.CancellableContext context) {
    connection = stream.connection();
    this.stream = stream;
    this.method = method;
    this.metadata = metadata;
    this.authority = authority;
    this.context = context;
    unaryResponse = method.getType().serverSendsOneMessage();
    unsent = unaryResponse ? NOTHING_UNSENT : new AtomicInteger();
    service = new ServiceListener<>(method, context);
    request = new RequestMessages<>(stream, method, decompressor, service, this);
  }

  // Receiving; on the event loop.

  void start(ServerMethodDefinition<Q, R> definition) {
    if (context.getDeadline() != null) {
      context.addListener(ended -> connection.later(stream::endLate), Runnable::run);
    }
    try {
      service.start(this, definition, metadata);
    } catch (Throwable e) {
      failed(e);
    }
    request.deliver();
  }

  @Override
  public boolean received(ByteBuf data, boolean endOfStream) {
    return request.received(data, endOfStream);
  }

  @Override
  public void endOfStream() {
    request.endOfStream();
  }

  @Override
  public boolean awaitsClient() {
    return request.awaitsClient();
  }

  @Override
  public String progress() {
    return request.progress();
  }

  @Override
  public boolean isBusy() {
    return request.isHolding() || request.handed() > answered;
  }

  // The end; on the event loop.

  /** The service is told once nothing is held any more. */
  @Override
  public void givenUp(Status status) {
    cancelled = true;
  }

  @Override
  public void closed(boolean ends) {
    request.close();
    if (!ends) {
      cancel(Status.CANCELLED.withDescription("the client has ended the call"));
    }
  }

  /** The service is told first, unless answers are still being sent: then after them. */
  @Override
  public void end(Status status) {
    boolean ended = stream.isEnded();
    if (!stream.isLeaving() || stream.state() == ServerStream.State.CLOSED) {
      cancel(status);
    } else if (!ended) {
      cancelled = true;
      endsWith = status;
    }
    if (!ended) {
      writeEnd(connection.headers().end(status, new Metadata(), !stream.isAnswered()));
      connection.flushUnlessReading();
    }
  }

  @Override
  public void failed(Throwable thrown) {
    log.error("{} failed", method.getFullMethodName(), thrown);
    end(Status.UNKNOWN.withDescription("Application error processing RPC"));
  }

  @Override
  public void ended(boolean sent) {
    if (!sent) {
      cancel(Status.CANCELLED.withDescription("the answer could not be sent"));
      return;
    }
    if (endsWith != null) {
      cancel(endsWith);
    } else {
      service.complete();
    }
    stream.stopSending();
  }

  private void cancel(Status status) {
    if (!service.isNotified()) {
      cancelled = true;
      service.cancel(status);
      dropPending();
    }
  }

  /** A service that is told of the end may never give the status that the message waits for. */
  private void dropPending() {
    ByteBuf message = pendingMessage.getAndSet(null);
    if (message != null) {
      message.release();
    }
  }

  // Answering; by any thread.

  @Override
  public void request(int count) {
    request.request(count);
  }

  @Override
  public void sendHeaders(Metadata answered) {
    if (answer == Answer.HEADERS) {
      throw new IllegalStateException("headers have been sent");
    }
    if (answer == Answer.STATUS) {
      return; // there is no listener
    }
    answer = Answer.HEADERS;
    Compressor chosen = compressor;
    if (chosen != null && !HeaderCodec.accepts(metadata, chosen)) {
      compressor = null;
    }
    Http2Headers first = connection.headers().begin(answered, compressor);
    if (unaryResponse) {
      pendingHeaders = first;
    } else {
      connection.send(new Outbound(this, first, null, null));
    }
  }

  @Override
  public void sendMessage(R message) {
    if (answer != Answer.HEADERS) {
      throw new IllegalStateException(
          answer == Answer.STATUS ? "the call is closed" : "no headers have been sent");
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
      answer = Answer.STATUS;
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
    return !cancelled && answer != Answer.STATUS && unsent.get() < READY_BYTES;
  }

  @Override
  public void close(Status status, Metadata trailers) {
    if (answer == Answer.STATUS) {
      return; // the transport has ended it
    }
    boolean isBegun = answer == Answer.HEADERS;
    answer = Answer.STATUS;
    ByteBuf message = pendingMessage.getAndSet(null);
    Status given = status;
    if (unaryResponse && status.isOk() && message == null) {
      given = Status.INTERNAL.withDescription("Completed without a response");
    }
    boolean first = unaryResponse ? !given.isOk() : !isBegun;
    if (message != null && first) {
      message.release();
      message = null;
    }
    connection.send(
        new Outbound(
            this,
            first ? null : pendingHeaders,
            message,
            connection.headers().end(given, trailers, first)));
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
    if (answer == Answer.HEADERS) {
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
    return authority;
  }

  @Override
  public SecurityLevel getSecurityLevel() {
    return connection.isSecure() ? SecurityLevel.PRIVACY_AND_INTEGRITY : SecurityLevel.NONE;
  }

  @Override
  public MethodDescriptor<Q, R> getMethodDescriptor() {
    return method;
  }

  // Writing; on the event loop.

  /** Part of an answer on its way to the event loop. */
  private record Outbound(
      Call<?, ?> call,
      @Nullable Http2Headers headers,
      @Nullable ByteBuf message,
      @Nullable Http2Headers trailers)
      implements GatheredWrites.Part {

    @Override
    public void write() {
      call.write(this);
    }

    @Override
    public void drop() {
      if (message != null) {
        message.release();
      }
    }
  }

  private void write(Outbound out) {
    if (stream.isEnded()) {
      out.drop();
      return;
    }
    if (out.headers() != null) {
      stream.writeHeaders(out.headers());
    }
    if (out.message() != null) {
      answered++;
      stream.writeData(out.message(), this);
    }
    if (out.trailers() != null) {
      writeEnd(out.trailers());
    }
  }

  private void writeEnd(Http2Headers trailers) {
    request.close(); // the stream may stay until its client reads
    stream.writeEnd(trailers, true);
  }

  @Override
  public void left(int bytes, boolean sent) {
    if (unaryResponse) {
      return;
    }
    int before = unsent.getAndAdd(-bytes);
    if (before >= READY_BYTES && before - bytes < READY_BYTES) {
      service.ready();
    }
  }
}
