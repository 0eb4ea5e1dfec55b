package dev.roundhouse.engine;

import dev.roundhouse.engine.dispatch.DispatchProxy;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/** What runs an engine: threads of its own, or whoever steps it. */
interface EngineThreads extends AutoCloseable {

  /** Where models are loaded. */
  Executor compilers();

  /** Begins to run the dispatch loop. */
  void start(DispatchProxy dispatch);

  /** Sees to it that a future which the dispatch loop completes can be waited for. */
  <T> CompletableFuture<T> awaiting(CompletableFuture<T> future);

  /** Lets loads and the running batch end, sheds what waits, and stops. */
  @Override
  void close();
}
