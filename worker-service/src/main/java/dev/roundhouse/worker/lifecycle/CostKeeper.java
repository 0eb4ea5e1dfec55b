package dev.roundhouse.worker.lifecycle;

import dev.roundhouse.engine.Engine;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes what runs cost now and then, on the thread {@code costs}: a worker that is killed forgets
 * no more than the last minute. Closing the engine writes the rest.
 */
public final class CostKeeper implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(CostKeeper.class);

  private static final long EVERY_SECONDS = 60;

  private final ScheduledExecutorService costs =
      Executors.newSingleThreadScheduledExecutor(
          Thread.ofPlatform().daemon().name("costs").factory());

  public CostKeeper(Engine engine) {
    costs.scheduleWithFixedDelay(
        () -> save(engine), EVERY_SECONDS, EVERY_SECONDS, TimeUnit.SECONDS);
  }

  private static void save(Engine engine) {
    try {
      engine.admin().saveCosts();
    } catch (RuntimeException | Error e) { // or they would never be kept again
      log.warn("costs could not be kept; trying again", e);
    }
  }

  @Override
  public void close() {
    costs.close();
  }
}
