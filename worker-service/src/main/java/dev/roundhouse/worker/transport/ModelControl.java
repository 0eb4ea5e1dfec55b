package dev.roundhouse.worker.transport;

import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.kserve.codec.ParameterValue;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.platform.audit.Audit;
import dev.roundhouse.platform.audit.Caller;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.worker.config.RepositoryProperties.Mode;
import dev.roundhouse.worker.lifecycle.ModelRepository;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * What callers may ask of the model repository, with Triton's rules and texts, whatever transport
 * they came by. Methods block on the disk and fail with {@link WireException}s, as the futures that
 * they return do. Thread-safe.
 */
public final class ModelControl {
  private static final String NOT_ON_THE_DEVICE =
      "not on the device; SetModelResidency with PINNED_DEVICE brings it";

  private final ModelRepository repository;
  private final ClientText texts;

  /**
   * @param texts what callers are told of why a model is in its state
   */
  public ModelControl(ModelRepository repository, ClientText texts) {
    this.repository = repository;
    this.texts = texts;
  }

  /**
   * What is in the repository.
   *
   * @param repositoryName empty, or the call is refused
   * @param readyOnly leaves out what would not answer
   */
  public List<IndexLine> index(String repositoryName, boolean readyOnly) {
    requireNone(repositoryName);
    List<IndexLine> lines = new ArrayList<>();
    for (ModelRepository.Entry entry : repository.index()) {
      if (entry.answers() || !readyOnly) {
        lines.add(line(entry));
      }
    }
    return lines;
  }

  /** Starts to load a model, and what it calls that is not loaded; completes when it serves. */
  public CompletableFuture<Void> load(
      String repositoryName, String model, Map<String, ParameterValue> parameters) {
    requireControl(repositoryName, model);
    checkLoad(parameters);
    Path folder =
        repository
            .folder(model)
            .orElseThrow(
                () ->
                    new WireException(
                        WireStatus.INTERNAL,
                        "failed to load '%s', failed to poll from model repository: there is no folder of that name"
                            .formatted(model)));
    return audited(model, () -> repository.loadWithCalled(folder))
        .thenAccept(
            status -> {
              if (!status.isReady()) {
                throw new WireException(
                    WireStatus.INTERNAL,
                    "failed to load '%s', %s".formatted(model, status.reason()));
              }
            });
  }

  /** Takes a model out of service; completes when it has been freed. */
  public CompletableFuture<Void> unload(
      String repositoryName, String model, Map<String, ParameterValue> parameters) {
    requireControl(repositoryName, model);
    boolean isWithDependents = isWithDependents(parameters);
    return audited(
        model,
        () -> isWithDependents ? repository.unloadWithCalled(model) : repository.unload(model));
  }

  /** Writes down what became of a model, for whom this thread is at. */
  private <T> CompletableFuture<T> audited(String model, Supplier<CompletableFuture<T>> change) {
    Caller caller = Caller.current();
    String before = repository.stateOf(model);
    return change
        .get()
        .whenComplete(
            (done, failure) ->
                Audit.changed(
                    caller, "model '%s'".formatted(model), before, repository.stateOf(model)));
  }

  private void requireControl(String repositoryName, String model) {
    requireNone(repositoryName);
    if (model.isBlank()) {
      throw WireException.invalidArgument("Model name cannot be empty");
    }
    if (model.contains("/") || model.contains("\\") || model.startsWith(".")) {
      throw WireException.invalidArgument(
          "model name must not contain path traversal characters: '" + model + "'");
    }
    if (repository.mode() != Mode.EXPLICIT) {
      throw new WireException(
          WireStatus.UNAVAILABLE,
          "explicit model load / unload is not allowed if polling is enabled: roundhouse.worker.repository.mode is '%s'; set it to 'explicit'"
              .formatted(repository.mode().name().toLowerCase(Locale.ROOT)));
    }
  }

  private static void requireNone(String repositoryName) {
    if (!repositoryName.isEmpty()) {
      throw new WireException(
          WireStatus.UNIMPLEMENTED, "'repository_name' specification is not supported");
    }
  }

  private static void checkLoad(Map<String, ParameterValue> parameters) {
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

  private static boolean isWithDependents(Map<String, ParameterValue> parameters) {
    boolean is = false;
    for (Map.Entry<String, ParameterValue> each : parameters.entrySet()) {
      if (!each.getKey().equals("unload_dependents")) {
        throw unknown(each.getKey());
      }
      if (!(each.getValue() instanceof ParameterValue.Flag(boolean value))) {
        throw WireException.invalidArgument(
            "invalid value type for '" + each.getKey() + "' parameter, expected bool_param.");
      }
      is = value;
    }
    return is;
  }

  private static WireException unknown(String parameter) {
    return WireException.invalidArgument(
        "unrecognized request parameter '" + parameter + "'; remove it");
  }

  private IndexLine line(ModelRepository.Entry entry) {
    if (entry.awaitsOperator()) {
      String version = entry.version().map(ModelStatus::version).orElse("");
      return new IndexLine(entry.name(), version, "UNAVAILABLE", NOT_ON_THE_DEVICE);
    }
    return entry
        .version()
        .map(
            status ->
                new IndexLine(
                    entry.name(),
                    status.version(),
                    state(status.state()),
                    texts.of(status.reason() + entry.note())))
        .orElseGet(() -> new IndexLine(entry.name(), "", "", ""));
  }

  private static String state(ModelState state) {
    return switch (state) {
      case LOADING -> "LOADING";
      case READY -> "READY";
      case UNLOADING -> "UNLOADING";
      case FAILED, UNLOADED -> "UNAVAILABLE";
    };
  }

  /**
   * One version of a model.
   *
   * @param version empty, as all that follows, for a model that was never loaded
   * @param reason why it is in that state; empty for none
   */
  public record IndexLine(String name, String version, String state, String reason) {}
}
