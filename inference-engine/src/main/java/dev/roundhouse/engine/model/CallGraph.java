package dev.roundhouse.engine.model;

import dev.roundhouse.bundle.model.ModelSpec;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Which models lead to which programs, by what is published now. It looks two calls deep: an
 * ensemble may call a meta, which calls models; whatever calls more than that does not serve.
 * Thread-safe.
 */
public final class CallGraph {
  private final ModelRegistry registry;

  CallGraph(ModelRegistry registry) {
    this.registry = registry;
  }

  /** Names with programs of their own that a version calls, or that what it calls does. */
  public Collection<RegisteredModel> withPrograms(ModelSpec caller) {
    Set<RegisteredModel> found = new LinkedHashSet<>();
    for (RegisteredModel each : registered(caller.calls())) {
      if (each.programs() != null) {
        found.add(each);
      } else {
        Servable serving = each.serving();
        if (serving != null) {
          registered(serving.spec().calls()).stream()
              .filter(model -> model.programs() != null)
              .forEach(found::add);
        }
      }
    }
    return found;
  }

  /** Whether a name stays on the device for one that is pinned and calls it. */
  public boolean isPinnedForCaller(String name) {
    return registry.calling().stream()
        .filter(RegisteredModel::isPinned)
        .flatMap(CallGraph::specs)
        .anyMatch(
            spec ->
                spec.calls().contains(name)
                    || registered(spec.calls()).stream()
                        .flatMap(CallGraph::specs)
                        .anyMatch(called -> called.calls().contains(name)));
  }

  private List<RegisteredModel> registered(List<String> names) {
    return names.stream().map(registry::get).filter(Objects::nonNull).toList();
  }

  /** Of all versions that serve, or would. */
  private static Stream<ModelSpec> specs(RegisteredModel model) {
    return model.versions().all().stream()
        .map(PublishedVersion::serving)
        .filter(Objects::nonNull)
        .map(Servable::spec);
  }
}
