package dev.roundhouse.engine.model;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Maps a model's name to what serves it. Any thread may look up; a lookup takes no lock.
 * Registering is for the loader.
 */
public final class ModelRegistry {
  private final Map<String, RegisteredModel> byName = new ConcurrentHashMap<>();
  private final AtomicInteger nextSlot = new AtomicInteger();

  public Optional<RegisteredModel> find(String name) {
    return Optional.ofNullable(byName.get(name));
  }

  /** As {@link #find}, for the request path: null when there is none. */
  public @Nullable RegisteredModel get(String name) {
    return byName.get(name);
  }

  /** Every registered model, by name. */
  public List<ModelStatus> statuses() {
    return byName.entrySet().stream()
        .sorted(Map.Entry.comparingByKey())
        .map(entry -> entry.getValue().status())
        .toList();
  }

  public List<RegisteredModel> models() {
    return List.copyOf(byName.values());
  }

  /**
   * Registers a name as loading.
   *
   * @throws IllegalStateException when the name is taken
   */
  RegisteredModel register(String name, String version) {
    RegisteredModel model = new RegisteredModel(ModelStatus.loading(name, version));
    if (byName.putIfAbsent(name, model) != null) {
      throw new IllegalStateException(
          "model '" + name + "' is already registered; a name can be in one repository only");
    }
    return model;
  }

  /** A slot nobody has had. */
  int newSlot() {
    return nextSlot.getAndIncrement();
  }
}
