package dev.roundhouse.worker.control;

import dev.roundhouse.kserve.control.proto.CompactMemoryRequest;
import dev.roundhouse.kserve.control.proto.CompactMemoryResponse;
import dev.roundhouse.kserve.control.proto.ControlServiceGrpc.ControlServiceImplBase;
import dev.roundhouse.kserve.control.proto.ModelControlStatusRequest;
import dev.roundhouse.kserve.control.proto.ModelControlStatusResponse;
import dev.roundhouse.kserve.control.proto.SetModelPolicyRequest;
import dev.roundhouse.kserve.control.proto.SetModelPolicyResponse;
import dev.roundhouse.kserve.control.proto.SetModelResidencyRequest;
import dev.roundhouse.kserve.control.proto.SetModelResidencyResponse;
import dev.roundhouse.kserve.status.WireException;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** {@code reactant_control.ControlService}: what is asked is done by {@link ControlCalls}. */
public final class ControlGrpcService extends ControlServiceImplBase {
  private static final Logger log = LoggerFactory.getLogger(ControlGrpcService.class);

  private final ControlCalls calls;

  public ControlGrpcService(ControlCalls calls) {
    this.calls = calls;
  }

  @Override
  public void modelControlStatus(
      ModelControlStatusRequest request, StreamObserver<ModelControlStatusResponse> call) {
    answer(call, calls::status);
  }

  @Override
  public void setModelResidency(
      SetModelResidencyRequest request, StreamObserver<SetModelResidencyResponse> call) {
    answer(call, () -> calls.setResidency(request));
  }

  @Override
  public void setModelPolicy(
      SetModelPolicyRequest request, StreamObserver<SetModelPolicyResponse> call) {
    answer(call, () -> calls.setPolicy(request));
  }

  @Override
  public void compactMemory(
      CompactMemoryRequest request, StreamObserver<CompactMemoryResponse> call) {
    answer(call, () -> calls.compact(request));
  }

  private static <T> void answer(StreamObserver<T> call, Supplier<CompletableFuture<T>> asked) {
    CompletableFuture<T> response;
    try {
      response = asked.get();
    } catch (RuntimeException e) {
      response = CompletableFuture.failedFuture(e);
    }
    var unused =
        response.whenComplete(
            (message, failure) -> {
              if (failure == null) {
                call.onNext(message);
                call.onCompleted();
              } else {
                call.onError(new StatusRuntimeException(status(failure)));
              }
            });
  }

  private static Status status(Throwable failure) {
    Throwable cause =
        failure instanceof CompletionException && failure.getCause() != null
            ? failure.getCause()
            : failure;
    if (cause instanceof WireException refusal) {
      return Status.fromCodeValue(refusal.status().grpcCode()).withDescription(refusal.text());
    }
    log.error("a control call failed unexpectedly", cause);
    return Status.INTERNAL.withDescription("Internal server error; see the server's log");
  }
}
