package dev.roundhouse.node.process;

import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps processes running until it is told to stop, or one has ended too often. All decisions are
 * made in {@link #doWork}, by the thread {@code supervisor} or by a test; other threads queue
 * notes.
 */
public final class Supervisor {
  private static final Logger log = LoggerFactory.getLogger(Supervisor.class);

  /** Between two checks for due work; the end of a process is noticed at once. */
  private static final long TICK_MILLIS = 100;

  private final List<ManagedProcess> processes;
  private final LongSupplier clock;
  private final BlockingQueue<Runnable> notes = new LinkedBlockingQueue<>();
  private final CompletableFuture<Boolean> ended = new CompletableFuture<>();
  private boolean stopping;
  private boolean gaveUp;

  /**
   * @param plans in the order in which they are started
   * @param clock nanoseconds, as {@link System#nanoTime}
   */
  public Supervisor(
      List<ProcessPlan> plans, RestartPolicy policy, ProcessStarter starter, LongSupplier clock) {
    this.clock = clock;
    processes = plans.stream().map(plan -> managed(plan, policy, starter)).toList();
  }

  private ManagedProcess managed(ProcessPlan plan, RestartPolicy policy, ProcessStarter starter) {
    ManagedProcess[] self = new ManagedProcess[1];
    self[0] =
        new ManagedProcess(
            plan,
            policy,
            starter,
            (start, code) -> notes.add(() -> self[0].onExit(start, code, clock.getAsLong())),
            clock.getAsLong());
    return self[0];
  }

  /** Starts the thread {@code supervisor}, which starts and stops the processes. */
  public void start() {
    Thread.ofPlatform().name("supervisor").start(this::run);
  }

  private void run() {
    while (!ended.isDone()) {
      try {
        doWork();
        if (!ended.isDone()) {
          Runnable note = notes.poll(TICK_MILLIS, TimeUnit.MILLISECONDS);
          if (note != null) {
            note.run();
          }
        }
      } catch (InterruptedException e) {
        log.warn("the supervisor was interrupted and stops");
        stop();
      } catch (RuntimeException | Error e) {
        log.error("the supervisor goes on after", e);
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(TICK_MILLIS)); // as often as it happens
      }
    }
  }

  /**
   * Does what is due and handles queued notes.
   *
   * @return how many notes there were
   */
  int doWork() {
    int done = 0;
    for (Runnable note = notes.poll(); note != null; note = notes.poll()) {
      note.run();
      done++;
    }
    long now = clock.getAsLong();
    processes.forEach(each -> each.onTurn(now));
    if (!stopping && processes.stream().anyMatch(ManagedProcess::givesUp)) {
      gaveUp = true;
      stopping = true;
    }
    if (stopping) {
      stopNext(now);
    }
    return done;
  }

  /** Stops the running processes of the lowest number. */
  private void stopNext(long now) {
    processes.stream()
        .filter(each -> !each.hasStopped())
        .mapToInt(each -> each.plan().stopsAt())
        .min()
        .ifPresentOrElse(
            number ->
                processes.stream()
                    .filter(each -> each.plan().stopsAt() == number)
                    .forEach(each -> each.stop(now)),
            () -> ended.complete(gaveUp));
  }

  /** Stops all processes; any thread. */
  public void stop() {
    notes.add(() -> stopping = true);
  }

  /** Completes when all have ended; with true when that is because one ended too often. */
  public CompletableFuture<Boolean> ended() {
    return ended;
  }

  /** In the order of the plans. */
  public List<ProcessStatus> statuses() {
    return processes.stream().map(ManagedProcess::status).toList();
  }
}
