package dev.roundhouse.transport.http2;

import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.ServerMethodDefinition;
import io.grpc.Status;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Calls the service's listener of one call, in the call's context. On the connection's event loop.
 */
final class ServiceListener<Q> {
  private static final Logger log = LoggerFactory.getLogger(ServiceListener.class);

  private final MethodDescriptor<Q, ?> method;
  private final Context.CancellableContext context;

  /** Null before the call has begun, and when that failed. */
  private ServerCall.@Nullable Listener<Q> listener;

  private boolean listenerNotified;

  ServiceListener(MethodDescriptor<Q, ?> method, Context.CancellableContext context) {
    this.method = method;
    this.context = context;
  }

  /** True once the service knows how the call has ended. */
  boolean isNotified() {
    return listenerNotified;
  }

  /** Begins the call; throws what the service does. */
  <R> void start(
      ServerCall<Q, R> call, ServerMethodDefinition<Q, R> definition, Metadata metadata) {
    Context previous = context.attach();
    try {
      ServerCall.Listener<Q> begun = definition.getServerCallHandler().startCall(call, metadata);
      listener = begun;
      if (!method.getType().serverSendsOneMessage()) {
        begun.onReady();
      }
    } finally {
      context.detach(previous);
    }
  }

  /**
   * Hands a message over; throws what the service or its marshaller does.
   *
   * @param message borrowed; no longer counted here when the service counts it
   */
  void message(ReceivedMessage message) {
    ServerCall.Listener<Q> to = listener;
    if (to == null) {
      return;
    }
    Context previous = context.attach();
    try {
      Q parsed = method.parseRequest(message);
      if (!method.getType().clientSendsOneMessage()) {
        message.letGo();
      }
      to.onMessage(parsed);
    } finally {
      context.detach(previous);
    }
  }

  /** There are no more messages; throws what the service does. */
  void halfClose() {
    ServerCall.Listener<Q> to = listener;
    if (to == null) {
      return;
    }
    Context previous = context.attach();
    try {
      to.onHalfClose();
    } finally {
      context.detach(previous);
    }
  }

  /** The call is ready for more answers. */
  void ready() {
    if (!listenerNotified) {
      tell(ServerCall.Listener::onReady);
    }
  }

  /** The answer has been sent; no effect when the service already knows the end. */
  void complete() {
    if (!listenerNotified) {
      listenerNotified = true;
      tell(ServerCall.Listener::onComplete);
      context.cancel(null);
    }
  }

  /** The call has ended otherwise; once. */
  void cancel(Status status) {
    listenerNotified = true;
    context.cancel(status.asRuntimeException());
    tell(ServerCall.Listener::onCancel);
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
}
