package dev.roundhouse.worker.lifecycle;

import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.engine.model.ModelLoadListener;
import java.util.Collection;
import java.util.Set;

/** Refuses to load what the operator leaves out, before anybody else is told. Thread-safe. */
public final class LeftOut implements ModelLoadListener {
  private final Set<String> names;
  private final ModelLoadListener next;

  public LeftOut(Collection<String> names, ModelLoadListener next) {
    this.names = Set.copyOf(names);
    this.next = next;
  }

  @Override
  public void onBegin(String model, String version, String fingerprint) {
    if (names.contains(model)) {
      throw new BundleException(
          "model '" + model + "'",
          "is left out by roundhouse.worker.repository.leave-out; remove its name there to load it");
    }
    next.onBegin(model, version, fingerprint);
  }

  @Override
  public void onBuilt(String model, String version, int modelIndex) {
    next.onBuilt(model, version, modelIndex);
  }

  @Override
  public void onEnd(String model, String version, boolean ready) {
    next.onEnd(model, version, ready);
  }
}
