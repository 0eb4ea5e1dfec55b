package dev.roundhouse.transport.http2;

import io.grpc.Attributes;
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
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One call of a service: passes what a {@link ServerStream} receives to the service's listener, on
 * the connection's event loop, and takes its answers from any thread, one at a time.
 */
final class Call<Q, R> extends ServerCall<Q, R>
    implements StreamListener,
        ServerStream.Departure,
        RequestMessages.Owner,
        ResponseMessages.Owner {
  private static final Logger log = LoggerFactory.getLogger(Call.class);

  private final Connection connection;
  private final ServerStream stream;
  private final MethodDescriptor<Q, R> method;
  private final Metadata metadata;
  private final @Nullable String authority;
  private final Context.CancellableContext context;
  private final ServiceListener<Q> service;
  private final RequestMessages<Q> request;
  private final ResponseMessages<R> response;

  // On the event loop.
  /** Messages of the answer written so far. */
  private int answered;

  /** The transport has ended the call with it; the service has not been told. */
  private @Nullable Status endsWith;

  private volatile boolean cancelled;

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
    service = new ServiceListener<>(method, context);
    request = new RequestMessages<>(stream, method, decompressor, service, this);
    response = new ResponseMessages<>(connection, method, this);
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
      response.drop(); // the service may never give the status that its message waits for
    }
  }

  // Answering; by any thread.

  @Override
  public void request(int count) {
    request.request(count);
  }

  @Override
  public void sendHeaders(Metadata answered) {
    response.sendHeaders(answered, metadata);
  }

  @Override
  public void sendMessage(R message) {
    response.sendMessage(message);
  }

  @Override
  public boolean isReady() {
    return !cancelled && response.isReady();
  }

  @Override
  public void close(Status status, Metadata trailers) {
    response.close(status, trailers);
  }

  @Override
  public boolean isCancelled() {
    return cancelled;
  }

  @Override
  public void setMessageCompression(boolean enabled) {
    response.compressMessages(enabled);
  }

  @Override
  public void setCompression(String name) {
    response.compression(name);
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

  @Override
  public void write(
      @Nullable Http2Headers headers, @Nullable ByteBuf message, @Nullable Http2Headers trailers) {
    if (stream.isEnded()) {
      if (message != null) {
        message.release();
      }
      return;
    }
    if (headers != null) {
      stream.writeHeaders(headers);
    }
    if (message != null) {
      answered++;
      stream.writeData(message, this);
    }
    if (trailers != null) {
      writeEnd(trailers);
    }
  }

  private void writeEnd(Http2Headers trailers) {
    request.close(); // the stream may stay until its client reads
    stream.writeEnd(trailers, true);
  }

  @Override
  public void left(int bytes, boolean sent) {
    if (response.left(bytes)) {
      service.ready();
    }
  }
}
