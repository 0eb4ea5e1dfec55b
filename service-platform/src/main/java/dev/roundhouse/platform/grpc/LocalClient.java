package dev.roundhouse.platform.grpc;

import com.google.protobuf.Message;
import io.grpc.Attributes;
import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.ServerMethodDefinition;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.ByteArrayInputStream;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Makes calls of the application's own services, one after the other, and waits for each. For one
 * thread, which should be a virtual one, but for {@link #gone}. To be closed when the last answer
 * has left.
 */
public final class LocalClient implements AutoCloseable {
  private final LocalCalls calls;
  private final Attributes attributes;
  private final List<ServerCall.Listener<?>> answered = new ArrayList<>(1);
  private @Nullable LocalCall<?, ?> current; // guarded by this
  private boolean isGone; // guarded by this

  LocalClient(LocalCalls calls, Attributes attributes) {
    this.calls = calls;
    this.attributes = attributes;
  }

  /**
   * Makes a call that has one request and one answer, which is counted until this is closed.
   *
   * @throws StatusRuntimeException with the status and trailers that the call ended with; CANCELLED
   *     when the client is gone
   */
  @SuppressWarnings("unchecked") // what a service answers to a method is of the method's type
  public <Q extends Message, R extends Message> R ask(MethodDescriptor<Q, R> method, Q request) {
    return (R) run(calls.definition(method), request);
  }

  private <Q, R> R run(ServerMethodDefinition<Q, R> method, Message request) {
    LocalCall<Q, R> call = new LocalCall<>(method.getMethodDescriptor(), attributes);
    if (!begin(call)) {
      throw LocalCall.GONE.asRuntimeException();
    }
    Context.CancellableContext context = Context.ROOT.withCancellation();
    Context before = context.attach();
    ServerCall.Listener<Q> listener;
    try {
      listener = method.getServerCallHandler().startCall(call, new Metadata());
      // read as on the port: with the same limits
      byte[] bytes = request.toByteArray();
      listener.onMessage(
          method.getMethodDescriptor().parseRequest(new ByteArrayInputStream(bytes)));
      listener.onHalfClose();
    } finally {
      context.detach(before);
    }
    Status status = call.awaitEnd();
    context.cancel(null);
    if (call.isCancelled()) {
      listener.onCancel();
      throw status.asRuntimeException();
    }
    answered.add(listener);
    if (!status.isOk()) {
      throw status.asRuntimeException(call.trailers());
    }
    return call.answer();
  }

  /** False when the answer is no longer wanted. */
  private synchronized boolean begin(LocalCall<?, ?> call) {
    current = call;
    return !isGone;
  }

  /** The client is gone: cancels the current call and further ones. Any thread. */
  public synchronized void gone() {
    isGone = true;
    if (current != null) {
      current.abandon();
    }
  }

  /** The answers are no longer needed. Any thread, once. */
  @Override
  public void close() {
    answered.forEach(ServerCall.Listener::onComplete);
  }
}
