package dev.roundhouse.engine.model;

import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.observe.ModelCounters;
import dev.roundhouse.engine.request.Status;
import org.jspecify.annotations.Nullable;

/**
 * A name in the registry: what serves it now, and what is known of it. Read by any thread; written
 * by the loader.
 */
public final class RegisteredModel {
  private final ModelCounters counters = new ModelCounters();
  private volatile ModelStatus status;
  private volatile @Nullable ServedModel serving;

  RegisteredModel(ModelStatus status) {
    this.status = status;
  }

  public ModelStatus status() {
    return status;
  }

  /** Null unless the model is ready. */
  public @Nullable ServedModel serving() {
    return serving;
  }

  /** One set of counters per name, whichever version answers. */
  public ModelCounters counters() {
    return counters;
  }

  public void countRefused(Status status) {
    counters.increment(Metric.ofRefusal(status));
  }

  /** Makes a version the one that answers. */
  void serve(ServedModel model, ModelStatus ready) {
    serving = model;
    status = ready;
  }

  void fail(ModelStatus failed) {
    status = failed;
  }

  /** Stops answering; returns what answered until now. */
  @Nullable ServedModel retire() {
    ServedModel retired = serving;
    serving = null;
    status = status.unloaded();
    return retired;
  }
}
