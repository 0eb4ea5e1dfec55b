package dev.roundhouse.platform.grpc;

import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.access.Admitted;
import dev.roundhouse.platform.access.ApiCategory;
import dev.roundhouse.platform.access.ApiMethod;
import dev.roundhouse.platform.access.Credentials;
import dev.roundhouse.platform.audit.Audit;
import dev.roundhouse.platform.audit.Caller;
import dev.roundhouse.transport.access.CallerRights;
import io.grpc.Context;
import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerMethodDefinition;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.StatusException;
import org.jspecify.annotations.Nullable;

/**
 * Lets calls of services through that {@link Access} admits, holds what they ask against the models
 * that their callers may use, and logs each call that changes something with its caller and its
 * end. Methods that everybody may call and that change nothing are unaffected. Inference looks at
 * models and quotas itself, by {@link #rights}. Thread-safe.
 */
public final class AccessGate {
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  private static final Context.Key<@Nullable CallerRights> RIGHTS = Context.key("caller-rights");

  private final Access access;

  public AccessGate(Access access) {
    this.access = access;
  }

  /** The service behind the gate. */
  ServerServiceDefinition before(ServerServiceDefinition service) {
    return GuardedService.withMethods(service, this::guarded);
  }

  private <Q, R> ServerMethodDefinition<Q, R> guarded(ServerMethodDefinition<Q, R> method) {
    String name = method.getMethodDescriptor().getFullMethodName();
    ApiMethod known = ApiMethod.of(name);
    if (access.isFree(known)) {
      return method;
    }
    ServerCallHandler<Q, R> behind = method.getServerCallHandler();
    return method.withServerCallHandler(
        (call, headers) ->
            new Guarded<>(call, access, known, credentials(call, headers)).start(behind, headers));
  }

  /**
   * What the caller may do of a call that is being started behind a gate; null when nothing is
   * checked.
   */
  public static @Nullable CallerRights rights() {
    return RIGHTS.get();
  }

  private static Credentials credentials(ServerCall<?, ?> call, Metadata headers) {
    Credentials local = call.getAttributes().get(LocalCalls.CREDENTIALS);
    return local != null
        ? local
        : new Credentials(
            call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR),
            call.getAttributes().get(Grpc.TRANSPORT_ATTR_SSL_SESSION),
            Credentials.joined(headers.getAll(AUTHORIZATION)),
            Credentials.joined(headers.getAll(SealedCalls.SEALED)));
  }

  /** One call. Its messages come one after the other. */
  private static final class Guarded<Q, R> extends SimpleForwardingServerCall<Q, R> {
    private final Access access;
    private final ApiMethod method;
    private final String name;
    private final Credentials credentials;

    /** Who is logged; false when it is logged where it was received. */
    private final boolean isLogged;

    private Caller caller;
    private volatile @Nullable Admitted admitted;

    /** What a call that changes something asks for. */
    private volatile @Nullable String asked;

    private boolean isClosed;

    Guarded(ServerCall<Q, R> call, Access access, ApiMethod method, Credentials credentials) {
      super(call);
      this.access = access;
      this.method = method;
      this.credentials = credentials;
      name = call.getMethodDescriptor().getFullMethodName();
      Caller known = call.getAttributes().get(LocalCalls.CALLER);
      isLogged = known == null;
      caller = known == null ? new Caller(credentials.from(), name) : known;
    }

    ServerCall.Listener<Q> start(ServerCallHandler<Q, R> behind, Metadata headers) {
      if (!admit(method.isGuarded())) {
        return new ServerCall.Listener<>() {};
      }
      Context with = Context.current().withValue(RIGHTS, admitted);
      Context before = with.attach();
      try {
        return new Listening<>(behind.startCall(this, headers), this);
      } finally {
        with.detach(before);
      }
    }

    /** False when it is refused, and over. */
    private boolean admit(boolean isGuarded) {
      try {
        Admitted who = access.admit(method.category(), isGuarded, name, credentials);
        admitted = who;
        caller = caller.known(who.name(), who.sealed());
        return true;
      } catch (StatusException e) {
        refuse(e.getStatus());
        if (isGuarded) {
          Audit.ended(caller, "", "refused: " + e.getStatus().getDescription());
        }
        return false;
      }
    }

    private void refuse(Status status) {
      isClosed = true;
      delegate().close(status, new Metadata());
    }

    /** Whether a message may pass; otherwise the call is over. */
    boolean admits(Object message) {
      if (isClosed) {
        return false;
      }
      Admitted who = admitted;
      if (who == null) {
        return true;
      }
      switch (method.effect()) {
        case READS, REVEALS -> {}
        case CHANGES -> asked = AskedText.of(message);
        case AS_ASKED -> {
          String what = AskedText.of(message);
          if (what != null && !admit(true)) {
            return false;
          }
          asked = what;
        }
      }
      try {
        String model =
            method.category() == ApiCategory.SHARED_MEMORY ? "" : ModelNames.asked(message);
        if (!model.isEmpty()) {
          who.requireModel(model);
        }
        return true;
      } catch (StatusException e) {
        refuse(e.getStatus());
        return false;
      }
    }

    @Override
    public void sendMessage(R message) {
      Admitted who = admitted;
      super.sendMessage(
          who == null || who.hasAllModels() ? message : ModelNames.only(message, who::mayUse));
    }

    @Override
    public void close(Status status, Metadata trailers) {
      String what = asked;
      if (isLogged && what != null) {
        String text = status.getDescription();
        Audit.ended(caller, what, status.getCode() + (text == null ? "" : " (" + text + ")"));
      }
      super.close(status, trailers);
    }
  }

  /** Makes known who asks while a message is handed over. */
  private static final class Listening<Q, R> extends SimpleForwardingServerCallListener<Q> {
    private final Guarded<Q, R> call;

    Listening(ServerCall.Listener<Q> behind, Guarded<Q, R> call) {
      super(behind);
      this.call = call;
    }

    @Override
    public void onMessage(Q message) {
      if (call.admits(message)) {
        try (Caller.Scope scope = call.caller.enter()) {
          super.onMessage(message);
        }
      }
    }

    @Override
    public void onHalfClose() {
      if (!call.isClosed) {
        try (Caller.Scope scope = call.caller.enter()) {
          super.onHalfClose();
        }
      }
    }
  }
}
