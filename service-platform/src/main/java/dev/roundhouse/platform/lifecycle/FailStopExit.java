package dev.roundhouse.platform.lifecycle;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.availability.AvailabilityChangeEvent;
import org.springframework.boot.availability.LivenessState;
import org.springframework.context.ApplicationContext;

/**
 * Ends the process of a server that has failed: one that cannot answer must not say that it can. At
 * once it is neither ready nor alive in every protocol; when the open calls have been told, and a
 * moment later so that the answers leave, the process exits. It does not wait for anything that
 * could hang: not for a drain, a shutdown hook or a device. Thread-safe.
 */
public final class FailStopExit {
  /** What the process exits with; see docs/memory.md for the others. */
  public static final int CODE = 70;

  private static final Logger log = LoggerFactory.getLogger(FailStopExit.class);

  /** For the open calls to be told; they mostly are within milliseconds. */
  private static final Duration TELLING = Duration.ofSeconds(3);

  /** For what they were told to leave, and for a probe to see that the process is not alive. */
  private static final Duration LEAVING = Duration.ofSeconds(1);

  private final ApplicationContext context;
  private final Runnable notReady;
  private final IntConsumer exit;
  private final AtomicBoolean begun = new AtomicBoolean();

  /**
   * @param notReady announces that it is not, or that it has ceased to be
   * @param exit ends the process with a code, without waiting for anything
   */
  public FailStopExit(ApplicationContext context, Runnable notReady, IntConsumer exit) {
    this.context = context;
    this.notReady = notReady;
    this.exit = exit;
  }

  /**
   * Begins the end; the first call counts. Returns at once.
   *
   * @param told done when the open calls have been told
   * @return false when it had begun
   */
  public boolean begin(CompletableFuture<?> told) {
    if (!begun.compareAndSet(false, true)) {
      return false;
    }
    try {
      Thread.ofPlatform().daemon().name("fail-stop").start(() -> announceAndExit(told));
    } catch (Throwable e) {
      exit.accept(CODE); // no thread, nobody can be told
    }
    return true;
  }

  private void announceAndExit(CompletableFuture<?> told) {
    try {
      announce();
      pause(told, TELLING);
      pause(new CompletableFuture<>(), LEAVING);
      log.error("the process exits with code {}", CODE);
    } finally {
      exit.accept(CODE);
    }
  }

  private void announce() {
    try {
      notReady.run();
      AvailabilityChangeEvent.publish(context, LivenessState.BROKEN);
    } catch (RuntimeException e) {
      log.error("the failure could not be announced", e); // the process ends all the same
    }
  }

  private void pause(CompletableFuture<?> until, Duration most) {
    long end = System.nanoTime() + most.toNanos();
    while (!until.isDone() && System.nanoTime() < end) {
      LockSupport.parkNanos(this, TimeUnit.MILLISECONDS.toNanos(10));
    }
  }
}
