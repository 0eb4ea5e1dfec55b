package dev.roundhouse.platform.v1;

import dev.roundhouse.kserve.proto.RepositoryIndexResponse;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.v1.proto.GRPCServiceGrpc.AsyncService;
import dev.roundhouse.kserve.v1.proto.HealthRequest;
import dev.roundhouse.kserve.v1.proto.HealthResponse;
import dev.roundhouse.kserve.v1.proto.ModelControlRequest;
import dev.roundhouse.kserve.v1.proto.ModelControlResponse;
import dev.roundhouse.kserve.v1.proto.ModelRepositoryIndex;
import dev.roundhouse.kserve.v1.proto.ModelRepositoryIndex.ModelEntry;
import dev.roundhouse.kserve.v1.proto.RepositoryRequest;
import dev.roundhouse.kserve.v1.proto.RepositoryResponse;
import dev.roundhouse.kserve.v1.proto.RequestStatus;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlRequest;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlRequest.Register;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlResponse;
import dev.roundhouse.kserve.v1.proto.StatusRequest;
import dev.roundhouse.kserve.v1.proto.StatusResponse;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * {@code nvidia.inferenceserver.GRPCService}, but for inference, which is UNIMPLEMENTED here. A
 * call that fails is answered with its status in the message, as clients expect it. Thread-safe.
 */
public final class V1Service implements AsyncService {
  private static final Logger log = LoggerFactory.getLogger(V1Service.class);

  private final V1Answers answers;

  public V1Service(V1Answers answers) {
    this.answers = answers;
  }

  @Override
  public void status(StatusRequest request, StreamObserver<StatusResponse> call) {
    answer(
        call,
        () -> answers.status(request.getModelName()),
        failed -> StatusResponse.newBuilder().setRequestStatus(failed).build());
  }

  @Override
  public void health(HealthRequest request, StreamObserver<HealthResponse> call) {
    answer(
        call,
        () ->
            CompletableFuture.completedFuture(
                HealthResponse.newBuilder()
                    .setHealth(health(request.getMode()))
                    .setRequestStatus(answers.success())
                    .build()),
        failed -> HealthResponse.newBuilder().setRequestStatus(failed).build());
  }

  private boolean health(String mode) {
    return switch (mode) {
      case "live" -> answers.isAlive();
      case "ready" -> answers.isReady();
      default ->
          throw WireException.invalidArgument(
              "mode is '%s'; it may be 'live' or 'ready'".formatted(mode));
    };
  }

  @Override
  public void modelControl(ModelControlRequest request, StreamObserver<ModelControlResponse> call) {
    answer(
        call,
        () ->
            control(request)
                .thenApply(
                    done ->
                        ModelControlResponse.newBuilder()
                            .setRequestStatus(answers.success())
                            .build()),
        failed -> ModelControlResponse.newBuilder().setRequestStatus(failed).build());
  }

  private CompletableFuture<?> control(ModelControlRequest request) {
    return switch (request.getType()) {
      case LOAD -> answers.load(request.getModelName());
      case UNLOAD -> answers.unload(request.getModelName());
      case UNRECOGNIZED ->
          throw WireException.invalidArgument(
              "type is %d; it may be 0 (UNLOAD) or 1 (LOAD)".formatted(request.getTypeValue()));
    };
  }

  @Override
  public void sharedMemoryControl(
      SharedMemoryControlRequest request, StreamObserver<SharedMemoryControlResponse> call) {
    answer(
        call,
        () ->
            regions(request)
                .thenApply(answer -> answer.setRequestStatus(answers.success()).build()),
        failed -> SharedMemoryControlResponse.newBuilder().setRequestStatus(failed).build());
  }

  private CompletableFuture<SharedMemoryControlResponse.Builder> regions(
      SharedMemoryControlRequest request) {
    return switch (request.getSharedMemoryControlCase()) {
      case REGISTER -> done(register(request.getRegister()));
      case UNREGISTER -> {
        String name = request.getUnregister().getName();
        if (name.isEmpty()) {
          throw WireException.invalidArgument(
              "unregister.name is empty; name a region, or ask for unregister_all");
        }
        yield done(answers.regions().unregister(name));
      }
      case UNREGISTER_ALL -> done(answers.regions().unregister(""));
      case STATUS ->
          answers
              .regions()
              .status()
              .thenApply(
                  told -> SharedMemoryControlResponse.newBuilder().setSharedMemoryStatus(told));
      case SHAREDMEMORYCONTROL_NOT_SET ->
          throw WireException.invalidArgument(
              "the request asks for nothing; set register, unregister, unregister_all or status");
    };
  }

  private static CompletableFuture<SharedMemoryControlResponse.Builder> done(
      CompletableFuture<?> change) {
    return change.thenApply(nothing -> SharedMemoryControlResponse.newBuilder());
  }

  private CompletableFuture<?> register(Register asked) {
    return switch (asked.getSharedMemoryTypesCase()) {
      case SYSTEM_SHARED_MEMORY ->
          answers
              .regions()
              .register(asked.getName(), asked.getSystemSharedMemory(), asked.getByteSize());
      case CUDA_SHARED_MEMORY ->
          answers
              .regions()
              .register(asked.getName(), asked.getCudaSharedMemory(), asked.getByteSize());
      case SHAREDMEMORYTYPES_NOT_SET ->
          throw WireException.invalidArgument(
              "register of '%s' has no memory; set system_shared_memory or cuda_shared_memory"
                  .formatted(asked.getName()));
    };
  }

  @Override
  public void repository(RepositoryRequest request, StreamObserver<RepositoryResponse> call) {
    answer(
        call,
        () -> {
          if (!request.getIndex()) {
            throw WireException.invalidArgument("the request asks for nothing; set index to true");
          }
          return answers.index().thenApply(this::index);
        },
        failed -> RepositoryResponse.newBuilder().setRequestStatus(failed).build());
  }

  private RepositoryResponse index(RepositoryIndexResponse found) {
    ModelRepositoryIndex.Builder index = ModelRepositoryIndex.newBuilder();
    found.getModelsList().stream()
        .map(RepositoryIndexResponse.ModelIndex::getName)
        .distinct()
        .forEach(name -> index.addModels(ModelEntry.newBuilder().setName(name)));
    return RepositoryResponse.newBuilder()
        .setIndex(index)
        .setRequestStatus(answers.success())
        .build();
  }

  private <R> void answer(
      StreamObserver<R> call,
      Supplier<CompletableFuture<R>> asked,
      Function<RequestStatus, R> failed) {
    CompletableFuture<R> answer;
    try {
      answer = asked.get();
    } catch (RuntimeException e) {
      answer = CompletableFuture.failedFuture(e);
    }
    var unused =
        answer
            .exceptionally(failure -> failed.apply(answers.failure(cause(failure))))
            .whenComplete(
                (message, failure) -> {
                  if (failure == null) {
                    call.onNext(message);
                    call.onCompleted();
                  } else {
                    log.error("a failure of a call could not be told", failure);
                    call.onError(Status.INTERNAL.asRuntimeException());
                  }
                });
  }

  /** Dependent stages wrap it. */
  private static Throwable cause(Throwable failure) {
    Throwable cause = failure;
    while (cause instanceof CompletionException && cause.getCause() != null) {
      cause = cause.getCause();
    }
    return cause;
  }
}
