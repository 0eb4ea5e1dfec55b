package dev.roundhouse.worker.lifecycle;

import dev.roundhouse.engine.Engine;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * Writes what runs cost now and then, on the thread {@code costs}: a worker that is killed forgets
 * no more than the last minute. Closing the engine writes the rest.
 */
public final class CostKeeper implements AutoCloseable {
  private static final long EVERY_SECONDS = 60;

  private final ScheduledExecutorService costs =
      Executors.newSingleThreadScheduledExecutor(
          Thread.ofPlatform().daemon().name("costs").factory());

  public CostKeeper(Engine engine) {
    costs.scheduleWithFixedDelay(engine::saveCosts, EVERY_SECONDS, EVERY_SECONDS, TimeUnit.SECONDS);
  }

  @Override
  public void close() {
    costs.close();
  }
}
