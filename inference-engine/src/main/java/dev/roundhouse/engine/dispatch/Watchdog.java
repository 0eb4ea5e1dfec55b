package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.dispatch.FailStop.WatchdogException;
import dev.roundhouse.engine.model.ProgramModel;
import dev.roundhouse.engine.residency.WeightUploader;
import dev.roundhouse.engine.thread.ProcessorUse;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Watches the dispatch thread from the thread {@code watchdog}: when a run, a call of the device,
 * the reading of outputs, the upload of weights or a turn of the loop takes longer than it may, the
 * engine has failed. The dispatch thread then ends every open request; if it is stuck, the watchdog
 * does.
 */
public final class Watchdog {
  private static final Logger log = LoggerFactory.getLogger(Watchdog.class);
  private static final long GRACE_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final long LEAST_LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
  private static final long MOST_LOOK_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final long MOST_LOOK_AT_THREADS_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

  /**
   * How long something may take.
   *
   * @param deviceCall a run, a call of the device, the reading of a run's outputs, or the upload of
   *     a tensor of a model's weights
   * @param turn a turn of the dispatch loop without a call of the device
   */
  public record Limits(Duration deviceCall, Duration turn) {
    public static final Limits DEFAULT = new Limits(Duration.ofMinutes(2), Duration.ofSeconds(30));

    public Limits {
      if (deviceCall.compareTo(Duration.ofMillis(1)) < 0
          || turn.compareTo(Duration.ofMillis(1)) < 0) {
        throw new IllegalArgumentException(
            "limits of the watchdog are 1 ms or more, got " + deviceCall + " and " + turn);
      }
    }

    private long shortestNanos() {
      return Math.min(deviceCall.toNanos(), turn.toNanos());
    }
  }

  private final DispatchThread dispatch;
  private final DispatchProxy proxy;
  private final Limits limits;
  private final long graceNanos;
  private final Consumer<String> onSlow;
  private final Thread thread;
  private volatile boolean stopped;

  // Of the turn that is looked at.
  private long seenTurns;
  private long seenSinceNanos = System.nanoTime();

  // Of what was last reported as slow.
  private long slowRunNanos = DeviceCalls.NONE;
  private long slowTurn = -1;

  /** Start of the weight reading that was last reported as slow. */
  private long slowReading = WeightUploader.NOT_NOW;

  Watchdog(DispatchThread dispatch, DispatchProxy proxy, Limits limits) {
    this(dispatch, proxy, limits, GRACE_NANOS, slow -> tell(slow, limits));
  }

  /**
   * @param graceNanos how long the dispatch thread has to end the requests itself
   * @param onSlow is told once of a run, or a turn, that has taken half of what it may
   */
  Watchdog(
      DispatchThread dispatch,
      DispatchProxy proxy,
      Limits limits,
      long graceNanos,
      Consumer<String> onSlow) {
    this.dispatch = dispatch;
    this.proxy = proxy;
    this.limits = limits;
    this.graceNanos = graceNanos;
    this.onSlow = onSlow;
    this.thread = Thread.ofPlatform().daemon().name("watchdog").unstarted(this::run);
  }

  void start() {
    thread.start();
  }

  void close() {
    stopped = true;
    LockSupport.unpark(thread);
  }

  boolean isAlive() {
    return thread.isAlive();
  }

  private void run() {
    long look = Math.clamp(limits.shortestNanos() / 10, LEAST_LOOK_NANOS, MOST_LOOK_NANOS);
    while (!stopped && proxy.failStop().cause() == null && dispatch.isAlive()) {
      LockSupport.parkNanos(this, look);
      try {
        check(System.nanoTime());
      } catch (WatchdogException stuck) {
        proxy.failStop().request(stuck);
      } catch (OutOfMemoryError full) {
        // it looks again: a full heap must not hide what hangs
      }
    }
    Throwable cause = proxy.failStop().cause();
    if (cause != null && !stopped) {
      endInItsPlace(cause);
    }
  }

  private static void tell(String slow, Limits limits) {
    long look = Math.min(limits.shortestNanos() / 10, MOST_LOOK_AT_THREADS_NANOS);
    log.warn("{}; {}", slow, ProcessorUse.look(Duration.ofNanos(look)));
  }

  /**
   * Looks once.
   *
   * @throws WatchdogException when something takes longer than it may
   */
  void check(long now) {
    long since = proxy.loop().pipeline().calls().sinceNanos();
    if (since != DeviceCalls.NONE && now - since > limits.deviceCall.toNanos()) {
      throw ofDispatch(
          new WatchdogException(
              "a run on the device has taken %d ms and the limit is %d ms%s"
                  .formatted(millis(now - since), limits.deviceCall.toMillis(), whose()),
              true));
    }
    if (since != DeviceCalls.NONE
        && since != slowRunNanos
        && now - since > limits.deviceCall.toNanos() / 2) {
      slowRunNanos = since;
      onSlow.accept(
          "a run on the device has taken %d ms and may take %d ms%s"
              .formatted(millis(now - since), limits.deviceCall.toMillis(), whose()));
    }
    long reading = proxy.outputsSinceNanos();
    if (reading != DeviceCalls.NONE && now - reading > limits.deviceCall.toNanos()) {
      throw new WatchdogException(
          "reading the outputs of a run has taken %d ms and the limit is %d ms"
              .formatted(millis(now - reading), limits.deviceCall.toMillis()));
    }
    checkLoads(now);
    long turns = dispatch.turns();
    if (turns != seenTurns || dispatch.isParked() || since != DeviceCalls.NONE) {
      seenTurns = turns;
      seenSinceNanos = now;
    } else if (now - seenSinceNanos > limits.turn.toNanos()) {
      throw ofDispatch(
          new WatchdogException(
              "the dispatch thread has made no progress for %d ms and the limit is %d ms"
                  .formatted(millis(now - seenSinceNanos), limits.turn.toMillis())));
    } else if (turns != slowTurn && now - seenSinceNanos > limits.turn.toNanos() / 2) {
      slowTurn = turns;
      onSlow.accept(
          "the dispatch thread has made no progress for %d ms and may take %d ms"
              .formatted(millis(now - seenSinceNanos), limits.turn.toMillis()));
    }
  }

  /** With the stack of the dispatch thread, which says more than the watchdog's own. */
  private WatchdogException ofDispatch(WatchdogException stuck) {
    stuck.setStackTrace(dispatch.stackTrace());
    return stuck;
  }

  /** The model of the current run. */
  private String whose() {
    ProgramModel model = proxy.loop().pipeline().calls().model();
    return model == null
        ? ""
        : ": it is of model '%s' version '%s'".formatted(model.name(), model.version());
  }

  /** A slow disk is not a hanging device: models on the device still serve. */
  private void checkLoads(long now) {
    WeightUploader uploader = proxy.uploader();
    if (uploader == null) {
      return;
    }
    long inDevice = uploader.inDeviceSinceNanos();
    if (inDevice != WeightUploader.NOT_NOW && now - inDevice > limits.deviceCall.toNanos()) {
      throw new WatchdogException(
          "bringing weights to the device has taken %d ms for one step and the limit is %d ms"
              .formatted(millis(now - inDevice), limits.deviceCall.toMillis()));
    }
    long reading = uploader.readingSinceNanos();
    if (reading != WeightUploader.NOT_NOW
        && reading != slowReading
        && now - reading > limits.deviceCall.toNanos()) {
      slowReading = reading; // said once
      log.warn(
          "reading a model's weights from their files has taken {} ms; models that are not on the"
              + " device wait for it",
          millis(now - reading));
    }
  }

  /** Lets the dispatch thread end the requests itself, which is safest; does so when it cannot. */
  private void endInItsPlace(Throwable cause) {
    dispatch.wakeForCertain();
    long end = System.nanoTime() + graceNanos;
    while (!proxy.failStop().ended().isDone() && System.nanoTime() < end) {
      LockSupport.parkNanos(this, LEAST_LOOK_NANOS);
    }
    if (!proxy.failStop().ended().isDone()) {
      // In a device call it is stopped from continuing; elsewhere nothing can be done.
      proxy.loop().pipeline().calls().seize();
      proxy.failStop(cause);
    }
  }

  private static long millis(long nanos) {
    return TimeUnit.NANOSECONDS.toMillis(nanos);
  }
}
