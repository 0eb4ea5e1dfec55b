package dev.roundhouse.worker.transport.grpc;

import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.kserve.proto.ModelRepositoryParameter;
import dev.roundhouse.kserve.proto.RepositoryIndexRequest;
import dev.roundhouse.kserve.proto.RepositoryIndexResponse;
import dev.roundhouse.kserve.proto.RepositoryIndexResponse.ModelIndex;
import dev.roundhouse.kserve.proto.RepositoryModelLoadRequest;
import dev.roundhouse.kserve.proto.RepositoryModelLoadResponse;
import dev.roundhouse.kserve.proto.RepositoryModelUnloadRequest;
import dev.roundhouse.kserve.proto.RepositoryModelUnloadResponse;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.worker.config.RepositoryProperties.Mode;
import dev.roundhouse.worker.lifecycle.ModelRepository;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Supplier;

/**
 * The model repository's calls, with Triton's rules and texts. Each is answered later: files are
 * looked at on virtual threads, loads are the engine's, and no event loop waits. Failures are
 * {@link WireException}s.
 */
public final class RepositoryCalls {
  private final ModelRepository repository;
  private final Executor files = task -> Thread.ofVirtual().name("repository").start(task);

  public RepositoryCalls(ModelRepository repository) {
    this.repository = repository;
  }

  CompletableFuture<RepositoryIndexResponse> index(RepositoryIndexRequest request) {
    return CompletableFuture.supplyAsync(
        () -> {
          if (!request.getRepositoryName().isEmpty()) {
            throw repositoryName();
          }
          RepositoryIndexResponse.Builder index = RepositoryIndexResponse.newBuilder();
          for (ModelRepository.Entry entry : repository.index()) {
            boolean ready = entry.version().filter(ModelStatus::isReady).isPresent();
            if (ready || !request.getReady()) {
              index.addModels(line(entry));
            }
          }
          return index.build();
        },
        files);
  }

  CompletableFuture<RepositoryModelLoadResponse> load(RepositoryModelLoadRequest request) {
    return later(
        () -> {
          String name = name(request.getRepositoryName(), request.getModelName());
          checkLoad(request.getParametersMap());
          Path folder =
              repository
                  .folder(name)
                  .orElseThrow(
                      () ->
                          new WireException(
                              WireStatus.INTERNAL,
                              "failed to load '%s', failed to poll from model repository: there is no folder of that name"
                                  .formatted(name)));
          return repository
              .load(folder)
              .thenApply(
                  status -> {
                    if (!status.isReady()) {
                      throw new WireException(
                          WireStatus.INTERNAL,
                          "failed to load '%s', %s".formatted(name, status.reason()));
                    }
                    return RepositoryModelLoadResponse.newBuilder()
                        .setModelName(name)
                        .setIsLoaded(true)
                        .build();
                  });
        });
  }

  CompletableFuture<RepositoryModelUnloadResponse> unload(RepositoryModelUnloadRequest request) {
    return later(
        () -> {
          String name = name(request.getRepositoryName(), request.getModelName());
          checkUnload(request.getParametersMap());
          RepositoryModelUnloadResponse done =
              RepositoryModelUnloadResponse.newBuilder()
                  .setModelName(name)
                  .setIsUnloaded(true)
                  .build();
          return repository.unload(name).thenApply(freed -> done);
        });
  }

  private <T> CompletableFuture<T> later(Supplier<CompletableFuture<T>> call) {
    return CompletableFuture.supplyAsync(call, files).thenCompose(result -> result);
  }

  /** The model that is meant: Triton's clients use the second field, KServe's the first. */
  private String name(String first, String second) {
    if (!first.isEmpty() && !second.isEmpty()) {
      throw repositoryName();
    }
    String name = second.isEmpty() ? first : second;
    if (name.isBlank()) {
      throw WireException.invalidArgument("Model name cannot be empty");
    }
    if (name.contains("/") || name.contains("\\") || name.startsWith(".")) {
      throw WireException.invalidArgument(
          "model name must not contain path traversal characters: '" + name + "'");
    }
    if (repository.mode() != Mode.EXPLICIT) {
      throw new WireException(
          WireStatus.UNAVAILABLE,
          "explicit model load / unload is not allowed if polling is enabled: roundhouse.worker.repository.mode is '%s'; set it to 'explicit'"
              .formatted(repository.mode().name().toLowerCase(Locale.ROOT)));
    }
    return name;
  }

  private static void checkLoad(Map<String, ModelRepositoryParameter> parameters) {
    for (String parameter : parameters.keySet()) {
      if (parameter.equals("config") || parameter.startsWith("file:")) {
        throw new WireException(
            WireStatus.UNIMPLEMENTED,
            "parameter '%s' is not supported: a model is what its folder holds; change its files and load it again"
                .formatted(parameter));
      }
      throw unknown(parameter);
    }
  }

  private static void checkUnload(Map<String, ModelRepositoryParameter> parameters) {
    parameters.forEach(
        (name, value) -> {
          if (!name.equals("unload_dependents")) {
            throw unknown(name);
          }
          if (!value.hasBoolParam()) {
            throw WireException.invalidArgument(
                "invalid value type for '" + name + "' parameter, expected bool_param.");
          }
          // No model depends on another yet, so both values mean the same.
        });
  }

  private static WireException unknown(String parameter) {
    return WireException.invalidArgument(
        "unrecognized request parameter '" + parameter + "'; remove it");
  }

  private static WireException repositoryName() {
    return new WireException(
        WireStatus.UNIMPLEMENTED, "'repository_name' specification is not supported");
  }

  private static ModelIndex line(ModelRepository.Entry entry) {
    ModelIndex.Builder line = ModelIndex.newBuilder().setName(entry.name());
    entry
        .version()
        .ifPresent(
            status ->
                line.setVersion(status.version())
                    .setState(state(status.state()))
                    .setReason(status.reason() + entry.note()));
    return line.build();
  }

  private static String state(ModelState state) {
    return switch (state) {
      case LOADING -> "LOADING";
      case READY -> "READY";
      case UNLOADING -> "UNLOADING";
      case FAILED, UNLOADED -> "UNAVAILABLE";
    };
  }
}
