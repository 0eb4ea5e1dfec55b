package dev.roundhouse.node.process;

import java.io.IOException;
import java.time.Duration;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps one process running. Owned by the thread {@code supervisor}; only {@link #status} is for
 * any thread.
 */
final class ManagedProcess {
  private static final Logger log = LoggerFactory.getLogger(ManagedProcess.class);

  /** The shell's code for a program that it cannot start. */
  static final int CANNOT_START = 127;

  private final ProcessPlan plan;
  private final RestartPolicy policy;
  private final ProcessStarter starter;
  private final BiConsumer<Integer, Integer> exits;
  private @Nullable ChildProcess child;
  private ProcessState state = ProcessState.WAITING;
  private int starts;
  private int endsInARow;
  private @Nullable Integer lastExit;
  private long sinceNanos;
  private long dueNanos;
  private boolean killed;
  private volatile ProcessStatus status;

  /**
   * @param exits takes the number of the start and the exit code, from any thread, and leads to a
   *     call of {@link #onExit}
   */
  ManagedProcess(
      ProcessPlan plan,
      RestartPolicy policy,
      ProcessStarter starter,
      BiConsumer<Integer, Integer> exits,
      long nowNanos) {
    this.plan = plan;
    this.policy = policy;
    this.starter = starter;
    this.exits = exits;
    sinceNanos = nowNanos;
    status = snapshot();
  }

  ProcessPlan plan() {
    return plan;
  }

  ProcessStatus status() {
    return status;
  }

  boolean hasStopped() {
    return state == ProcessState.STOPPED;
  }

  /** True when it has ended too often. */
  boolean givesUp() {
    return policy.givesUp(endsInARow);
  }

  /** Does what is due. */
  void onTurn(long nowNanos) {
    switch (state) {
      case BACKING_OFF -> {
        if (nowNanos - dueNanos >= 0) {
          enter(ProcessState.WAITING, nowNanos);
          onTurn(nowNanos);
        }
      }
      case WAITING -> {
        if (plan.gate().mayStart(sinceNanos, nowNanos)) {
          start(nowNanos);
        }
      }
      case STOPPING -> {
        if (!killed && nowNanos - dueNanos >= 0 && child != null) {
          killed = true;
          log.warn(
              "{} did not end within {} s; killing it", plan.name(), seconds(plan.stopGrace()));
          child.kill();
        }
      }
      case RUNNING, STOPPED -> {}
    }
  }

  private void start(long nowNanos) {
    starts++;
    int start = starts;
    try {
      child = starter.start(plan.name(), plan.spec().get(), code -> exits.accept(start, code));
      enter(ProcessState.RUNNING, nowNanos);
      log.info("{} started, process {}", plan.name(), child.pid());
    } catch (IOException | RuntimeException | Error e) { // an Error: no thread can be had for it
      log.error("{} cannot be started: {}", plan.name(), e.getMessage());
      ended(CANNOT_START, nowNanos);
    }
  }

  /** A process that this started has ended. */
  void onExit(int start, int code, long nowNanos) {
    if (start == starts && child != null) {
      ended(code, nowNanos);
    }
  }

  private void ended(int code, long nowNanos) {
    child = null;
    lastExit = code;
    if (state == ProcessState.STOPPING) {
      log.info("{} ended, exit code {}", plan.name(), code);
      enter(ProcessState.STOPPED, nowNanos);
      return;
    }
    Duration up =
        state == ProcessState.RUNNING ? Duration.ofNanos(nowNanos - sinceNanos) : Duration.ZERO;
    endsInARow = policy.endsInARow(endsInARow, up);
    if (givesUp()) {
      log.error(
          "{} ended, exit code {}, {} times in a row: more than restart.max-restarts, which is {}",
          plan.name(),
          code,
          endsInARow,
          policy.maxRestarts());
      enter(ProcessState.STOPPED, nowNanos);
      return;
    }
    Duration delay = policy.delay(endsInARow);
    dueNanos = nowNanos + delay.toNanos();
    log.warn(
        "{} ended, exit code {}, after {} s; starting it again in {} s",
        plan.name(),
        code,
        up.toSeconds(),
        delay.toSeconds());
    enter(ProcessState.BACKING_OFF, nowNanos);
  }

  /** Stops it for good. */
  void stop(long nowNanos) {
    switch (state) {
      case BACKING_OFF, WAITING -> enter(ProcessState.STOPPED, nowNanos);
      case RUNNING -> {
        dueNanos = nowNanos + plan.stopGrace().toNanos();
        enter(ProcessState.STOPPING, nowNanos);
        if (child != null) {
          child.terminate();
        }
      }
      case STOPPING, STOPPED -> {}
    }
  }

  private void enter(ProcessState next, long nowNanos) {
    state = next;
    sinceNanos = nowNanos;
    status = snapshot();
  }

  private ProcessStatus snapshot() {
    return new ProcessStatus(
        plan.name(),
        state,
        child == null ? null : child.pid(),
        starts,
        endsInARow,
        lastExit,
        sinceNanos,
        state == ProcessState.BACKING_OFF ? seconds(policy.delay(endsInARow)) : 0);
  }

  private static double seconds(Duration duration) {
    return duration.toNanos() / 1e9;
  }
}
