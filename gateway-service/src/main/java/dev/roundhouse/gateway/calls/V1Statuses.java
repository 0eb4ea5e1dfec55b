package dev.roundhouse.gateway.calls;

import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.kserve.v1.proto.ModelReadyState;
import dev.roundhouse.kserve.v1.proto.ModelStatus;
import dev.roundhouse.kserve.v1.proto.ModelVersionStatus;
import dev.roundhouse.kserve.v1.proto.RequestStatusCode;
import dev.roundhouse.kserve.v1.proto.ServerStatus;
import dev.roundhouse.kserve.v1.proto.StatusRequest;
import dev.roundhouse.kserve.v1.proto.StatusResponse;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;

/**
 * What workers say of themselves and their models by v1, as if they were one: a version is as far
 * as on the worker on which it has got furthest. Thread-safe.
 */
public final class V1Statuses {
  private static final List<ModelReadyState> FURTHEST_FIRST =
      List.of(
          ModelReadyState.MODEL_READY,
          ModelReadyState.MODEL_LOADING,
          ModelReadyState.MODEL_UNLOADING,
          ModelReadyState.MODEL_UNAVAILABLE,
          ModelReadyState.MODEL_UNKNOWN);

  private final Workers workers;
  private final Duration timeout;

  /**
   * @param timeout of a worker
   */
  public V1Statuses(Workers workers, Duration timeout) {
    this.workers = workers;
    this.timeout = timeout;
  }

  /**
   * Asks all workers that take requests.
   *
   * @param model empty for all
   * @return as the workers have answered; a refusal when all of them refuse
   */
  public CompletableFuture<StatusResponse> of(String model) {
    StatusRequest request = StatusRequest.newBuilder().setModelName(model).build();
    return Replies.of(
            workers.ready(), worker -> worker.askV1(timeout, stub -> stub.status(request)))
        .thenApply(replies -> merged(replies.answersOrRefusal()));
  }

  private static StatusResponse merged(List<StatusResponse> answers) {
    List<StatusResponse> told =
        answers.stream()
            .filter(each -> each.getRequestStatus().getCode() == RequestStatusCode.SUCCESS)
            .toList();
    if (told.isEmpty()) {
      return answers.getFirst();
    }
    Map<String, ModelStatus> models = new TreeMap<>();
    for (StatusResponse each : told) {
      each.getServerStatus()
          .getModelStatusMap()
          .forEach((name, status) -> models.merge(name, status, V1Statuses::merged));
    }
    ServerStatus.Builder server = told.getFirst().getServerStatus().toBuilder();
    server.clearModelStatus().putAllModelStatus(models);
    return told.getFirst().toBuilder().setServerStatus(server).build();
  }

  private static ModelStatus merged(ModelStatus one, ModelStatus other) {
    ModelStatus.Builder merged = one.toBuilder();
    if (!one.hasConfig() && other.hasConfig()) {
      merged.setConfig(other.getConfig());
    }
    other
        .getVersionStatusMap()
        .forEach(
            (version, status) -> {
              ModelVersionStatus known = one.getVersionStatusOrDefault(version, status);
              merged.putVersionStatus(version, rank(status) < rank(known) ? status : known);
            });
    return merged.build();
  }

  private static int rank(ModelVersionStatus status) {
    int rank = FURTHEST_FIRST.indexOf(status.getReadyState());
    return rank < 0 ? FURTHEST_FIRST.size() : rank;
  }
}
