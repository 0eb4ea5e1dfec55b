package dev.roundhouse.worker.transport.grpc;

import dev.roundhouse.kserve.codec.ParameterValue;
import dev.roundhouse.kserve.proto.ModelRepositoryParameter;
import dev.roundhouse.kserve.proto.RepositoryIndexRequest;
import dev.roundhouse.kserve.proto.RepositoryIndexResponse;
import dev.roundhouse.kserve.proto.RepositoryIndexResponse.ModelIndex;
import dev.roundhouse.kserve.proto.RepositoryModelLoadRequest;
import dev.roundhouse.kserve.proto.RepositoryModelLoadResponse;
import dev.roundhouse.kserve.proto.RepositoryModelUnloadRequest;
import dev.roundhouse.kserve.proto.RepositoryModelUnloadResponse;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.platform.audit.Caller;
import dev.roundhouse.worker.transport.ModelControl;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Supplier;

/**
 * The model repository's calls. Each is answered later: files are looked at on virtual threads,
 * loads are the engine's, and no event loop waits. Failures are {@link WireException}s.
 */
public final class RepositoryCalls {
  private final ModelControl control;
  private final Executor files = task -> Thread.ofVirtual().name("repository").start(task);

  public RepositoryCalls(ModelControl control) {
    this.control = control;
  }

  /** What is in the repository. */
  public CompletableFuture<RepositoryIndexResponse> index(RepositoryIndexRequest request) {
    return CompletableFuture.supplyAsync(
        () -> {
          RepositoryIndexResponse.Builder index = RepositoryIndexResponse.newBuilder();
          for (ModelControl.IndexLine line :
              control.index(request.getRepositoryName(), request.getReady())) {
            index.addModels(
                ModelIndex.newBuilder()
                    .setName(line.name())
                    .setVersion(line.version())
                    .setState(line.state())
                    .setReason(line.reason()));
          }
          return index.build();
        },
        files);
  }

  /** Loads a model; completes when it serves. */
  public CompletableFuture<RepositoryModelLoadResponse> load(RepositoryModelLoadRequest request) {
    Named named = Named.of(request.getRepositoryName(), request.getModelName());
    return later(
        () ->
            control
                .load(named.repository(), named.model(), values(request.getParametersMap()))
                .thenApply(
                    loaded ->
                        RepositoryModelLoadResponse.newBuilder()
                            .setModelName(named.model())
                            .setIsLoaded(true)
                            .build()));
  }

  /** Takes a model out of service; completes when it has been freed. */
  public CompletableFuture<RepositoryModelUnloadResponse> unload(
      RepositoryModelUnloadRequest request) {
    Named named = Named.of(request.getRepositoryName(), request.getModelName());
    return later(
        () ->
            control
                .unload(named.repository(), named.model(), values(request.getParametersMap()))
                .thenApply(
                    freed ->
                        RepositoryModelUnloadResponse.newBuilder()
                            .setModelName(named.model())
                            .setIsUnloaded(true)
                            .build()));
  }

  private <T> CompletableFuture<T> later(Supplier<CompletableFuture<T>> call) {
    Caller caller = Caller.current();
    Supplier<CompletableFuture<T>> known =
        () -> {
          try (Caller.Scope scope = caller.enter()) {
            return call.get();
          }
        };
    return CompletableFuture.supplyAsync(known, files).thenCompose(result -> result);
  }

  private static Map<String, ParameterValue> values(
      Map<String, ModelRepositoryParameter> parameters) {
    Map<String, ParameterValue> values = new HashMap<>();
    parameters.forEach((name, parameter) -> values.put(name, value(parameter)));
    return values;
  }

  private static ParameterValue value(ModelRepositoryParameter parameter) {
    return switch (parameter.getParameterChoiceCase()) {
      case BOOL_PARAM -> new ParameterValue.Flag(parameter.getBoolParam());
      case INT64_PARAM -> new ParameterValue.Signed(parameter.getInt64Param());
      case STRING_PARAM -> new ParameterValue.Text(parameter.getStringParam());
      // No parameter that takes bytes is served: each is refused by its name.
      case BYTES_PARAM, PARAMETERCHOICE_NOT_SET -> ParameterValue.UNSET;
    };
  }

  /** What is meant: Triton's clients name the model in the second field, KServe's in the first. */
  private record Named(String repository, String model) {
    static Named of(String first, String second) {
      return second.isEmpty() ? new Named("", first) : new Named(first, second);
    }
  }
}
