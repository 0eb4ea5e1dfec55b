package dev.roundhouse.worker.actuator;

import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.worker.lifecycle.ModelRepository;
import dev.roundhouse.worker.lifecycle.ModelRepository.Entry;
import dev.roundhouse.worker.transport.ModelControl;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;

/**
 * {@code /actuator/repository}: every model that the repository has, loaded or not; and which are
 * loaded.
 */
@Endpoint(id = "repository")
public final class RepositoryEndpoint {
  private final ModelRepository repository;
  private final LoadChange change;

  public RepositoryEndpoint(ModelRepository repository, ModelControl control) {
    this.repository = repository;
    change = new LoadChange(repository, control);
  }

  @ReadOperation
  public Repository read() {
    Map<String, SortedSet<String>> callers = repository.callers();
    return new Repository(
        repository.mode().name().toLowerCase(Locale.ROOT),
        repository.all().stream().map(entry -> model(entry, callers)).toList());
  }

  private static Model model(Entry entry, Map<String, SortedSet<String>> callers) {
    Optional<ModelStatus> version = entry.version();
    SortedSet<String> calledBy = callers.get(entry.name());
    return new Model(
        entry.name(),
        version.map(ModelStatus::version).orElse(""),
        version.map(ModelStatus::state).orElse(ModelState.UNLOADED),
        version.map(ModelStatus::reason).orElse("") + entry.note(),
        calledBy == null ? List.of() : List.copyOf(calledBy));
  }

  /** Loads a model, or takes it out of service, by the rules of the protocol's own calls. */
  @WriteOperation
  public WebEndpointResponse<Object> change(
      @Selector String name, @Nullable Boolean loaded, @Nullable Boolean unloadDependents) {
    return change.apply(name, loaded, unloadDependents);
  }

  /** What the repository has, by name. */
  public record Repository(String mode, List<Model> models) {}

  /**
   * One version of a model.
   *
   * @param version empty for a model that was never loaded
   * @param calledBy models that are loaded and call it
   */
  public record Model(
      String name, String version, ModelState state, String reason, List<String> calledBy) {}
}
