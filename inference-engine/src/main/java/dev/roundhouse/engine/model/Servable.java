package dev.roundhouse.engine.model;

import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.engine.observe.ModelCounters;
import dev.roundhouse.engine.queue.QueueRules;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A version of what a name leads to: what callers may send and what is counted, whether programs of
 * its own answer or it calls others. Thread-safe.
 */
public sealed interface Servable permits ProgramModel, ComposedModel {
  String name();

  /** What responses carry. */
  String version();

  /** Of the files it was made of; empty when it was not read from files. */
  String fingerprint();

  ModelSpec spec();

  ModelContract contract();

  /** How its requests wait. */
  QueueRules queueRules();

  /** Its own; they also say whether a request of it is open. */
  ModelCounters counters();

  /**
   * Where the requests of its callers count; see {@link dev.roundhouse.engine.queue.QueueShares}.
   */
  int shareKey();

  /** What of it has programs, weights and a lane: itself, another that it owns, or null. */
  @Nullable ProgramModel inLane();

  /** Programs whose weights it needs: its own, or those of all that it calls and that serves. */
  List<ProgramModel> needs();

  /** Least time that the answer to so many rows takes to compute; 0 when nothing is known. */
  long leastRunNanos(int variant, int rows, long nowNanos);

  /** Least time until that can begin; 0 when what it needs is on the device. */
  long leastWaitNanos(long nowNanos);

  /** True unless weights that it {@link #needs} would have to be brought to the device first. */
  boolean isOnDevice();

  /** Of its own weights on the device. */
  long residentBytes();
}
