package dev.roundhouse.platform.grpc;

import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.audit.Caller;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import org.jspecify.annotations.Nullable;

/**
 * Tells workers whom a gateway's own calls are made for, where there is a key to sign that with:
 * the caller that the thread is at, or the gateway itself.
 */
public final class SealedCalls implements ClientInterceptor {
  static final Metadata.Key<String> SEALED =
      Metadata.Key.of(Access.SEALED_CALLER, Metadata.ASCII_STRING_MARSHALLER);

  private final Access access;

  public SealedCalls(Access access) {
    this.access = access;
  }

  @Override
  public <Q, R> ClientCall<Q, R> interceptCall(
      MethodDescriptor<Q, R> method, CallOptions options, Channel next) {
    String sealed = sealed();
    ClientCall<Q, R> call = next.newCall(method, options);
    return sealed == null
        ? call
        : new SimpleForwardingClientCall<>(call) {
          @Override
          public void start(Listener<R> listener, Metadata headers) {
            headers.put(SEALED, sealed);
            super.start(listener, headers);
          }
        };
  }

  private @Nullable String sealed() {
    String ofCaller = Caller.current().sealed();
    return ofCaller == null ? access.sealedSelf() : ofCaller;
  }
}
