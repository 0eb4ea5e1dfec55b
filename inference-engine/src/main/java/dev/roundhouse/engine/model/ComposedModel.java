package dev.roundhouse.engine.model;

import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.engine.observe.ModelCounters;
import dev.roundhouse.engine.observe.Waiting;
import dev.roundhouse.engine.queue.QueueRules;
import java.util.List;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * A model version that answers by calling others, or programs of its own that no name leads to. It
 * has no lane: a request that is accepted is a {@link ComposedRun}, which waits in no queue.
 * Thread-safe.
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

  /**
   * Has a piece of a run's code run. Whatever it does with it, it runs no piece on this thread.
   *
   * @param begun whether code of that run has been run before
   * @param threads the application's, which may refuse
   * @throws java.util.concurrent.RejectedExecutionException when there is no room for it
   */
  protected void execute(Runnable piece, boolean begun, Executor threads) {
    threads.execute(piece);
  }

  /**
   * True when {@link #run} is none of a bundle's code, returns soon and calls by steps alone: it
   * runs on the thread that accepts the request.
   */
  boolean runsWhereItIsCalled() {
    return false;
  }

  /** What its runs wait for, before their calls do; null when none waits. Any thread. */
  public @Nullable Waiting waiting() {
    return null;
  }

  /**
   * Frees what it has besides programs, once nothing of it is in use; once, on {@code unload}. Does
   * not throw.
   */
  protected void close() {}

  @Override
  public @Nullable ProgramModel inLane() {
    return null;
  }

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
    ProgramModel programs = inLane();
    return programs == null ? 0 : programs.leastWaitNanos(nowNanos);
  }

  @Override
  public List<ProgramModel> needs() {
    ProgramModel programs = inLane();
    return programs == null ? List.of() : List.of(programs);
  }

  @Override
  public final boolean isOnDevice() {
    return needs().stream().allMatch(ProgramModel::isOnDevice);
  }

  @Override
  public final long residentBytes() {
    ProgramModel programs = inLane();
    return programs == null ? 0 : programs.residentBytes();
  }
}
