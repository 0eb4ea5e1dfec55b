package dev.roundhouse.worker.lifecycle;

import dev.roundhouse.engine.Engine;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.availability.AvailabilityChangeEvent;
import org.springframework.boot.availability.LivenessState;
import org.springframework.context.ApplicationContext;

/**
 * Ends the process of a worker whose engine has failed: a server that cannot answer must not say
 * that it can. At once it is neither ready nor alive in every protocol; when the open calls have
 * been told, and a moment later so that the answers leave, the process exits. It does not wait for
 * anything that could hang: not for a drain, a shutdown hook or the device.
 */
public final class FailStopExit {
  /** What the process exits with; see docs/memory.md for the others. */
  public static final int CODE = 70;

  private static final Logger log = LoggerFactory.getLogger(FailStopExit.class);

  /** For the open calls to be told; they mostly are within milliseconds. */
  private static final Duration TELLING = Duration.ofSeconds(3);

  /** For what they were told to leave, and for a probe to see that the worker is not alive. */
  private static final Duration LEAVING = Duration.ofSeconds(1);

  private final Engine engine;
  private final Readiness readiness;
  private final ApplicationContext context;
  private final IntConsumer exit;

  /**
   * @param exit ends the process with a code, without waiting for anything
   */
  public FailStopExit(
      Engine engine, Readiness readiness, ApplicationContext context, IntConsumer exit) {
    this.engine = engine;
    this.readiness = readiness;
    this.context = context;
    this.exit = exit;
    engine
        .failing()
        .thenAccept(
            cause -> Thread.ofPlatform().daemon().name("fail-stop").start(this::announceAndExit));
  }

  private void announceAndExit() {
    try {
      readiness.refresh();
      AvailabilityChangeEvent.publish(context, LivenessState.BROKEN);
    } catch (RuntimeException e) {
      log.error("the failure could not be announced", e); // the process ends all the same
    }
    long end = System.nanoTime() + TELLING.toNanos();
    while (!engine.failed().isDone() && System.nanoTime() < end) {
      LockSupport.parkNanos(this, TimeUnit.MILLISECONDS.toNanos(10));
    }
    long left = System.nanoTime() + LEAVING.toNanos();
    while (System.nanoTime() < left) {
      LockSupport.parkNanos(this, left - System.nanoTime());
    }
    log.error("the worker exits with code {}", CODE);
    exit.accept(CODE);
  }
}
