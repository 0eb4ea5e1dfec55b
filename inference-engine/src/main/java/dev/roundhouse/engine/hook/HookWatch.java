package dev.roundhouse.engine.hook;

import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.thread.LowPriority;
import dev.roundhouse.engine.time.NanoClock;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sees to it that hooks end in time. A hook that takes too long has its request failed and its
 * thread interrupted; if it does not stop then, what it was lent is taken back and nothing waits
 * for it any more. {@link #look} is called every few milliseconds, by one thread; the rest by any.
 */
final class HookWatch {
  private static final Logger log = LoggerFactory.getLogger(HookWatch.class);

  /** What a hook has to stop in, once it is interrupted. */
  static final long GRACE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private final NanoClock clock;
  private final Set<Watched> running = ConcurrentHashMap.newKeySet();

  HookWatch(NanoClock clock) {
    this.clock = clock;
  }

  /** One call of a hook, which runs on the thread that made this. */
  final class Watched {
    private final CodedRun run;
    private final String hook;
    private final Thread thread = Thread.currentThread();
    private final long beganNanos;
    private final long limitNanos;
    private final long deadlineNanos;

    // Guarded by this.

    /** Since when the limit counts. */
    private long startNanos;

    private boolean waitsForReader;
    private boolean over;
    private boolean interrupted;
    private boolean givenUp;
    private boolean waits;
    private long waitsSinceNanos;
    private long waitedNanos;
    private long expiredNanos = Long.MIN_VALUE;

    private Watched(
        CodedRun run, String hook, long beganNanos, long limitNanos, long deadlineNanos) {
      this.run = run;
      this.hook = hook;
      this.beganNanos = beganNanos;
      this.startNanos = beganNanos;
      this.limitNanos = limitNanos;
      this.deadlineNanos = deadlineNanos;
    }

    /**
     * The hook has returned or thrown; by its own thread, which no interrupt reaches from now on.
     *
     * @return false when it was given up meanwhile
     */
    boolean end() {
      boolean late;
      synchronized (this) {
        over = true;
        late = givenUp;
        if (interrupted) {
          var unused = Thread.interrupted();
        }
      }
      running.remove(this);
      if (late) {
        log.warn(
            "{} of model '{}' has stopped, {} ms after it began",
            hook,
            run.modelName(),
            TimeUnit.NANOSECONDS.toMillis(clock.nanoTime() - beganNanos));
      }
      return !late;
    }

    boolean isOfThisThread() {
      return thread == Thread.currentThread();
    }

    /**
     * The limit counts from now: the hook has made a part of its answer, or its caller has taken
     * one.
     *
     * @param waits whether the hook waits for its caller from now on
     */
    synchronized void renew(boolean waits) {
      startNanos = clock.nanoTime();
      waitedNanos = 0;
      waitsForReader = waits;
    }

    private synchronized void look(long now) {
      if (over || givenUp) {
        return;
      }
      if (expiredNanos == Long.MIN_VALUE) {
        boolean atDeadline = now - beganNanos >= deadlineNanos;
        if (atDeadline || worked(now) >= limitNanos) {
          expiredNanos = now;
          run.fail(Status.DEADLINE_EXCEEDED, late(atDeadline));
          interrupt();
        } else if (!interrupted && run.isCancelled()) {
          interrupt(); // nobody waits for it
        }
      } else if (now - expiredNanos >= GRACE_NANOS && run.revoke()) {
        givenUp = true;
        LowPriority.lowest(thread);
        log.warn(
            "{} of model '{}' does not stop: thread {} is at\n{}",
            hook,
            run.modelName(),
            thread.getName(),
            stack(thread));
        run.abandon(
            thread, hook + " did not stop within its time limit, nor when it was interrupted");
      }
    }

    /** It waits for others from now on, which its own limit does not count. */
    synchronized void beginWait() {
      waits = true;
      waitsSinceNanos = clock.nanoTime();
    }

    synchronized void endWait() {
      waits = false;
      waitedNanos += clock.nanoTime() - waitsSinceNanos;
    }

    private String late(boolean atDeadline) {
      if (atDeadline) {
        return "%s of model '%s' had not ended when the deadline passed, after %s"
            .formatted(hook, run.modelName(), HookFailure.millis(deadlineNanos));
      }
      return (waitsForReader
              ? "the caller of model '%2$s' had read no part of its answer for %3$s, the limit of %4$s.time-limit, while %1$s waited"
              : "%s of model '%s' took longer than %s, the limit of %s.time-limit")
          .formatted(hook, run.modelName(), HookFailure.millis(limitNanos), run.settings());
    }

    private long worked(long now) {
      return (waits ? waitsSinceNanos : now) - startNanos - waitedNanos;
    }

    private void interrupt() {
      interrupted = true;
      thread.interrupt();
    }
  }

  /**
   * Begins to watch the calling thread.
   *
   * @param limitNanos what it may take, without what it waits for others
   * @param deadlineNanos what it may take in all
   */
  Watched begin(CodedRun run, String hook, long limitNanos, long deadlineNanos) {
    Watched watched = new Watched(run, hook, clock.nanoTime(), limitNanos, deadlineNanos);
    running.add(watched);
    return watched;
  }

  /** True while hooks run. */
  boolean look() {
    if (running.isEmpty()) {
      return false;
    }
    long now = clock.nanoTime();
    for (Watched each : running) {
      each.look(now);
    }
    return true;
  }

  /** Threads that run hooks now, stuck ones too. */
  Set<Thread> threads() {
    return running.stream().map(each -> each.thread).collect(Collectors.toSet());
  }

  /** As a log shows it. */
  static String stack(Thread thread) {
    return Arrays.stream(thread.getStackTrace())
        .map(frame -> "\tat " + frame)
        .collect(Collectors.joining("\n"));
  }
}
