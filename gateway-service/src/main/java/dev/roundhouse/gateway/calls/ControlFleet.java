package dev.roundhouse.gateway.calls;

import com.google.common.util.concurrent.ListenableFuture;
import dev.roundhouse.gateway.fleet.WorkerLink;
import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.kserve.control.proto.CompactMemoryRequest;
import dev.roundhouse.kserve.control.proto.CompactMemoryResponse;
import dev.roundhouse.kserve.control.proto.ControlServiceGrpc.ControlServiceFutureStub;
import dev.roundhouse.kserve.control.proto.ModelControlStatusRequest;
import dev.roundhouse.kserve.control.proto.ModelControlStatusResponse;
import dev.roundhouse.kserve.control.proto.ModelStatus;
import dev.roundhouse.kserve.control.proto.SetModelPolicyRequest;
import dev.roundhouse.kserve.control.proto.SetModelPolicyResponse;
import dev.roundhouse.kserve.control.proto.SetModelResidencyRequest;
import dev.roundhouse.kserve.control.proto.SetModelResidencyResponse;
import io.grpc.Status;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The workers' control service, of all of them together. Thread-safe. */
public final class ControlFleet {
  private static final Logger log = LoggerFactory.getLogger(ControlFleet.class);

  /** Weights are moved before these are answered. */
  private static final Duration CHANGE_TIMEOUT = Duration.ofMinutes(10);

  private final Workers workers;
  private final Duration timeout;
  private final Runnable refresh;

  /**
   * @param timeout of a worker, for what it answers at once
   * @param refresh has the workers be looked at soon
   */
  public ControlFleet(Workers workers, Duration timeout, Runnable refresh) {
    this.workers = workers;
    this.timeout = timeout;
    this.refresh = refresh;
  }

  /** Models of all workers: counts are added up, a model is where it is on one of them. */
  public CompletableFuture<ModelControlStatusResponse> status(ModelControlStatusRequest request) {
    return Replies.of(
            workers.ready(),
            worker -> worker.askControl(timeout, stub -> stub.modelControlStatus(request)))
        .thenApply(replies -> merge(replies.answersOrRefusal()));
  }

  private static ModelControlStatusResponse merge(List<ModelControlStatusResponse> answers) {
    Map<String, ModelStatus> models = new TreeMap<>();
    long room = 0;
    boolean limited = true;
    for (ModelControlStatusResponse answer : answers) {
      room += answer.getWeightCacheMaxBytes();
      limited &= answer.getWeightCacheMaxBytes() > 0;
      answer
          .getModelsList()
          .forEach(model -> models.merge(model.getName(), model, ControlFleet::plus));
    }
    return answers.getFirst().toBuilder()
        .clearModels()
        .clearGatewayProtocolOldest()
        .clearGatewayProtocolLatest()
        .clearInstance()
        .clearStreamPort()
        .addAllModels(models.values())
        .setWeightCacheMaxBytes(limited ? room : 0)
        .build();
  }

  private static ModelStatus plus(ModelStatus one, ModelStatus other) {
    int residency = Math.max(one.getResidencyValue(), other.getResidencyValue());
    return one.toBuilder()
        .setResidencyValue(residency)
        .setDeviceResident(one.getDeviceResident() || other.getDeviceResident())
        .setHostResident(one.getHostResident() || other.getHostResident())
        .setQueueDepth(one.getQueueDepth() + other.getQueueDepth())
        .setTotalComputeSeconds(one.getTotalComputeSeconds() + other.getTotalComputeSeconds())
        .setRequestsServed(one.getRequestsServed() + other.getRequestsServed())
        .setDispatchCount(one.getDispatchCount() + other.getDispatchCount())
        .setRowsServed(one.getRowsServed() + other.getRowsServed())
        .build();
  }

  /** On every worker that has the model. */
  public CompletableFuture<SetModelResidencyResponse> setResidency(
      SetModelResidencyRequest request) {
    return ofModel(request.getName(), request, ControlServiceFutureStub::setModelResidency)
        .whenComplete((done, failure) -> refresh.run()); // who serves it may be others now
  }

  /** On every worker that has the model. */
  public CompletableFuture<SetModelPolicyResponse> setPolicy(SetModelPolicyRequest request) {
    return ofModel(request.getName(), request, ControlServiceFutureStub::setModelPolicy);
  }

  private <Q, T> CompletableFuture<T> ofModel(
      String model, Q request, BiFunction<ControlServiceFutureStub, Q, ListenableFuture<T>> call) {
    List<WorkerLink> having = workers.having(model);
    return Replies.of(
            having.isEmpty() ? workers.ready() : having, // who has it not says so
            worker -> worker.askControl(CHANGE_TIMEOUT, stub -> call.apply(stub, request)))
        .thenApply(replies -> replies.answersOfAll().getFirst());
  }

  /** On every worker, each for those of the models that it has. */
  public CompletableFuture<CompactMemoryResponse> compact(CompactMemoryRequest request) {
    for (String model : request.getReloadModelsList()) {
      if (workers.having(model).isEmpty()) {
        throw Status.NOT_FOUND
            .withDescription("Request for unknown model: '%s' is not found".formatted(model))
            .asRuntimeException();
      }
    }
    return Replies.of(workers.ready(), worker -> compact(worker, request.getReloadModelsList()))
        .thenApply(
            replies -> {
              CompactMemoryResponse.Builder sum = CompactMemoryResponse.newBuilder();
              for (CompactMemoryResponse answer : replies.answersOfAll()) {
                sum.setReloadedModels(sum.getReloadedModels() + answer.getReloadedModels());
                sum.setResidentBytesAfter(
                    sum.getResidentBytesAfter() + answer.getResidentBytesAfter());
              }
              return sum.build();
            });
  }

  private CompletableFuture<CompactMemoryResponse> compact(WorkerLink worker, List<String> models) {
    CompactMemoryRequest own =
        CompactMemoryRequest.newBuilder()
            .addAllReloadModels(
                models.stream().filter(model -> workers.having(model).contains(worker)).toList())
            .build();
    return worker.askControl(CHANGE_TIMEOUT, stub -> stub.compactMemory(own));
  }

  /**
   * After models were placed anew; failures are logged. Returns at once.
   *
   * @param placed models that are brought back, unless others say what the worker's device holds
   */
  public void compactLater(String name, List<String> placed) {
    List<String> reload = workers.isExternallyManaged(name) ? List.of() : placed;
    workers
        .worker(name)
        .ifPresent(
            worker -> {
              var unused =
                  compact(worker, reload)
                      .whenComplete(
                          (done, failure) -> {
                            if (failure != null) {
                              log.warn(
                                  "worker '{}' did not compact its memory: {}",
                                  name,
                                  Status.fromThrowable(failure));
                            }
                          });
            });
  }
}
