package dev.roundhouse.engine;

import dev.roundhouse.engine.dispatch.DispatchProxy;
import dev.roundhouse.engine.dispatch.FailStop;
import dev.roundhouse.engine.dispatch.OutputsThread;
import dev.roundhouse.engine.dispatch.WeightsThread;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** What runs an engine: its own threads, or a caller that steps it. */
interface EngineThreads {

  /** Where models are loaded. */
  Executor compilers();

  /** Where unused models are freed. */
  Executor unloader();

  /** Where the code of composed models runs. */
  Executor userCode();

  /** Where it runs while a thread that loads or frees the model waits for it. */
  Executor awaitedUserCode();

  /**
   * Has something looked at every few milliseconds, from now until {@link #close}.
   *
   * @param look true while it must go on even beyond that
   */
  void watch(String name, BooleanSupplier look);

  /** What delivers large outputs; null for the dispatch loop itself. */
  @Nullable OutputsThread outputs(FailStop failStop);

  /** What brings weights to the device; null for the dispatch loop itself. */
  @Nullable WeightsThread weights(FailStop failStop);

  /** Begins to run the dispatch loop. */
  void start(DispatchProxy dispatch);

  /** Makes a future that the dispatch loop completes safe to wait for. */
  <T> CompletableFuture<T> awaiting(CompletableFuture<T> future);

  /**
   * Lets loads and the running batch end, sheds what waits, and stops.
   *
   * @param loads longest wait for loads, which cannot be interrupted
   * @return false when a load has not ended, so its thread still uses the device
   */
  boolean close(Duration loads);
}
