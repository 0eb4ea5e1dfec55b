package dev.roundhouse.engine.model;

import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.engine.observe.ModelCounters;
import dev.roundhouse.engine.queue.QueueRules;
import java.util.List;

/**
 * A model version that answers by calling others. It has no programs, weights or lane: a request
 * that is accepted is a {@link ComposedRun}, which waits in no queue. Thread-safe.
 */
public abstract non-sealed class ComposedModel implements Servable {
  private final ModelSpec spec;
  private final String version;
  private final ModelContract contract;
  private final QueueRules queueRules;
  private final ModelCounters counters = new ModelCounters();

  /**
   * @param spec what callers send and get
   * @param batchSizes rows that one request may have, ascending; the largest is the limit
   */
  protected ComposedModel(ModelSpec spec, String version, List<Integer> batchSizes) {
    this.spec = spec;
    this.version = version;
    contract = ModelContract.of(spec, batchSizes);
    queueRules = QueueRules.of(spec.serving());
  }

  /**
   * Begins to answer a request: makes the first calls, or ends the run. Runs where the application
   * wants the code of models run; see {@link ComposedRun}.
   */
  protected abstract void run(ComposedRun run);

  @Override
  public final String name() {
    return spec.name();
  }

  @Override
  public final String version() {
    return version;
  }

  @Override
  public String fingerprint() {
    return "";
  }

  @Override
  public final ModelSpec spec() {
    return spec;
  }

  @Override
  public final ModelContract contract() {
    return contract;
  }

  @Override
  public final QueueRules queueRules() {
    return queueRules;
  }

  @Override
  public final ModelCounters counters() {
    return counters;
  }

  @Override
  public final int shareKey() {
    return spec.name().hashCode();
  }

  @Override
  public final long leastRunNanos(int variant, int rows, long nowNanos) {
    return 0;
  }

  @Override
  public final long leastWaitNanos(long nowNanos) {
    return 0;
  }

  @Override
  public final boolean isOnDevice() {
    return true;
  }

  @Override
  public final long residentBytes() {
    return 0;
  }
}
