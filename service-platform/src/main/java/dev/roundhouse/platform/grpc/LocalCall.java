package dev.roundhouse.platform.grpc;

import io.grpc.Attributes;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.Status;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A call without a transport, which has one request and one answer. Thread-safe. */
final class LocalCall<Q, R> extends ServerCall<Q, R> {
  /** The caller did not wait for the answer. */
  static final Status GONE = Status.CANCELLED.withDescription("the client has gone");

  private final MethodDescriptor<Q, R> method;
  private final Attributes attributes;
  private final CompletableFuture<Status> end = new CompletableFuture<>();
  private volatile @Nullable R answer;
  private volatile Metadata trailers = new Metadata();

  LocalCall(MethodDescriptor<Q, R> method, Attributes attributes) {
    this.method = method;
    this.attributes = attributes;
  }

  /** The answer is no longer wanted. */
  void abandon() {
    end.complete(GONE);
  }

  /** Waits for what it ends with. */
  Status awaitEnd() {
    return end.join();
  }

  /** Once it has ended. */
  Metadata trailers() {
    return trailers;
  }

  /** Once it has ended well. */
  R answer() {
    R given = answer;
    if (given == null) {
      throw new IllegalStateException(method.getFullMethodName() + " has ended without an answer");
    }
    return given;
  }

  @Override
  public void request(int messages) {
    // it has one, which comes in any case
  }

  @Override
  public void sendHeaders(Metadata headers) {
    // nobody reads them
  }

  @Override
  public void sendMessage(R message) {
    answer = message;
  }

  @Override
  public void close(Status status, Metadata with) {
    trailers = with;
    end.complete(status);
  }

  @Override
  public boolean isCancelled() {
    return end.getNow(Status.OK) == GONE;
  }

  @Override
  public Attributes getAttributes() {
    return attributes;
  }

  @Override
  public MethodDescriptor<Q, R> getMethodDescriptor() {
    return method;
  }
}
