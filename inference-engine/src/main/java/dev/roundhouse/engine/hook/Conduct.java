package dev.roundhouse.engine.hook;

import dev.roundhouse.engine.time.NanoClock;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/**
 * How the code of one version behaves. Tells once when that must not serve any more: after three
 * offences within five minutes, or a hundred failures in a row. Thread-safe.
 */
final class Conduct {
  static final int MOST_OFFENCES = 3;
  static final int MOST_FAILURES = 100;
  private static final Duration WITHIN = Duration.ofMinutes(5);

  private final NanoClock clock;
  private final Consumer<String> quarantine;
  private final AtomicInteger failures = new AtomicInteger();

  // Guarded by this.
  private final Deque<Long> offencesNanos = new ArrayDeque<>();
  private boolean told;

  /**
   * @param quarantine is told why
   */
  Conduct(NanoClock clock, Consumer<String> quarantine) {
    this.clock = clock;
    this.quarantine = quarantine;
  }

  /** A request was answered, or refused in the way that hooks are to. */
  void onAnswered() {
    if (failures.getPlain() != 0) {
      failures.set(0);
    }
  }

  /** A hook threw. */
  void onFailure(String what) {
    if (failures.incrementAndGet() >= MOST_FAILURES) {
      tell("its hooks failed %d times in a row, the last: %s".formatted(MOST_FAILURES, what));
    }
  }

  /** A hook did what harms others. */
  void onOffence(String what) {
    long now = clock.nanoTime();
    synchronized (this) {
      offencesNanos.add(now);
      while (now - offencesNanos.getFirst() > WITHIN.toNanos()) {
        offencesNanos.removeFirst();
      }
      if (offencesNanos.size() < MOST_OFFENCES) {
        return;
      }
    }
    tell(
        "its hooks did what harms others %d times within %d minutes, the last: %s"
            .formatted(MOST_OFFENCES, WITHIN.toMinutes(), what));
  }

  private void tell(String why) {
    synchronized (this) {
      if (told) {
        return;
      }
      told = true;
    }
    quarantine.accept(why + "; mend them and load the model again");
  }
}
