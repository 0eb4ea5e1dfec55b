package dev.roundhouse.platform.grpc;

import dev.roundhouse.platform.audit.Audit;
import dev.roundhouse.platform.audit.Caller;
import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerMethodDefinition;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Guards methods that change something: those of the control services are accepted from this
 * machine only unless the operator allows more, and each call is logged with its caller and its
 * end. Other methods are unaffected. Thread-safe.
 */
public final class ControlGate {
  private static final Set<String> OF_OPERATORS =
      Set.of(
          "reactant_control.ControlService/SetModelResidency",
          "reactant_control.ControlService/SetModelPolicy",
          "reactant_control.ControlService/CompactMemory",
          "reactant_control.GatewayControlService/SetSchedulingPolicy",
          "reactant_control.GatewayControlService/SetModelPlacement",
          "reactant_control.GatewayControlService/Repack");

  private static final Set<String> OF_CLIENTS =
      Set.of(
          "inference.GRPCInferenceService/RepositoryModelLoad",
          "inference.GRPCInferenceService/RepositoryModelUnload",
          "inference.GRPCInferenceService/SystemSharedMemoryRegister",
          "inference.GRPCInferenceService/SystemSharedMemoryUnregister",
          "inference.GRPCInferenceService/CudaSharedMemoryRegister",
          "inference.GRPCInferenceService/CudaSharedMemoryUnregister",
          "inference.GRPCInferenceService/TraceSetting",
          "inference.GRPCInferenceService/LogSettings");

  private final boolean everywhere;
  private final String key;

  /**
   * @param everywhere whether the control services are other machines' too
   * @param key of the setting that says so
   */
  public ControlGate(boolean everywhere, String key) {
    this.everywhere = everywhere;
    this.key = key;
  }

  /** The service behind the gate. */
  ServerServiceDefinition before(ServerServiceDefinition service) {
    return GuardedService.withMethods(service, this::guarded);
  }

  private <Q, R> ServerMethodDefinition<Q, R> guarded(ServerMethodDefinition<Q, R> method) {
    String name = method.getMethodDescriptor().getFullMethodName();
    boolean operators = OF_OPERATORS.contains(name);
    if (!operators && !OF_CLIENTS.contains(name)) {
      return method;
    }
    ServerCallHandler<Q, R> behind = method.getServerCallHandler();
    return method.withServerCallHandler(
        (call, headers) -> {
          SocketAddress from = call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR);
          Caller known = call.getAttributes().get(LocalCalls.CALLER);
          Caller caller = known == null ? new Caller(text(from), name) : known;
          if (operators && !everywhere && !isHere(from)) {
            Status refusal =
                Status.PERMISSION_DENIED.withDescription(
                    "%s is taken from this machine only, and this call came from %s; set %s=true where only operators reach the port"
                        .formatted(name, text(from), key));
            Audit.record(caller, "refused: " + key + " is not set");
            call.close(refusal, new Metadata());
            return new ServerCall.Listener<>() {};
          }
          AuditedCall<Q, R> audited = new AuditedCall<>(call, caller, known == null);
          return new AuditedListener<>(behind.startCall(audited, headers), audited);
        });
  }

  private static String text(@Nullable SocketAddress from) {
    return from instanceof InetSocketAddress known && known.getAddress() != null
        ? known.getAddress().getHostAddress() + ":" + known.getPort()
        : String.valueOf(from);
  }

  /** A call without a network is of this process, or by a socket in the file system. */
  private static boolean isHere(@Nullable SocketAddress from) {
    return !(from instanceof InetSocketAddress known)
        || (known.getAddress() != null && known.getAddress().isLoopbackAddress());
  }

  /** Writes how the call ended. */
  private static final class AuditedCall<Q, R> extends SimpleForwardingServerCall<Q, R> {
    private final Caller caller;

    /** False when it is logged where it was received. */
    private final boolean isWritten;

    private volatile @Nullable String asked;

    AuditedCall(ServerCall<Q, R> call, Caller caller, boolean isWritten) {
      super(call);
      this.caller = caller;
      this.isWritten = isWritten;
    }

    @Override
    public void close(Status status, Metadata trailers) {
      String what = asked;
      if (isWritten && what != null) {
        String text = status.getDescription();
        Audit.record(
            caller, what + " " + status.getCode() + (text == null ? "" : " (" + text + ")"));
      }
      super.close(status, trailers);
    }
  }

  /** Notes what is asked, and makes known who does while it is begun. */
  private static final class AuditedListener<Q, R> extends SimpleForwardingServerCallListener<Q> {
    private final AuditedCall<Q, R> call;

    AuditedListener(ServerCall.Listener<Q> behind, AuditedCall<Q, R> call) {
      super(behind);
      this.call = call;
    }

    @Override
    public void onMessage(Q message) {
      call.asked = AskedText.of(message);
      try (Caller.Scope scope = call.caller.enter()) {
        super.onMessage(message);
      }
    }

    @Override
    public void onHalfClose() {
      try (Caller.Scope scope = call.caller.enter()) {
        super.onHalfClose();
      }
    }
  }
}
