package dev.roundhouse.gateway.route;

import dev.roundhouse.gateway.fleet.WorkerView;
import dev.roundhouse.transport.forward.CallRouter.Route;
import dev.roundhouse.transport.forward.LostCall;
import dev.roundhouse.transport.forward.Refusal;
import io.grpc.Status;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ejects a worker for a while after several calls in a row that could not reach it or ended
 * UNAVAILABLE, sooner than its next check. Only the worker's own behaviour counts; the table in
 * docs/gateway.md attributes each end of a call. Thread-safe.
 */
public final class Ejection {
  private static final Logger log = LoggerFactory.getLogger(Ejection.class);
  private static final int MOST_DOUBLINGS = 4;

  /** Characters kept of a worker's text. */
  private static final int MOST_TEXT = 512;

  private final int failures;
  private final long nanos;
  private final LongSupplier clock;
  private final InstantSource wall;
  private final Map<String, Calls> records = new ConcurrentHashMap<>();

  /** What operators are told; unlike the records, kept when a worker answers again. */
  private final Map<String, History> histories = new ConcurrentHashMap<>();

  private final AtomicLong ejections = new AtomicLong();

  /**
   * @param failed calls in a row; immutable, so that a request sees both or neither
   * @param until the end of the ejection, if it is ejected
   */
  private record Calls(int failed, int times, boolean out, long until) {}

  private record History(long ejections, EjectionReport.Last last) {}

  /**
   * @param failures in a row; 0 disables ejection
   * @param nanos the first time; twice as long each further time, up to 16 times
   * @param wall for operators, who compare it with logs
   */
  public Ejection(int failures, long nanos, LongSupplier clock, InstantSource wall) {
    this.failures = failures;
    this.nanos = nanos;
    this.clock = clock;
    this.wall = wall;
  }

  /**
   * A call to a worker has ended.
   *
   * @param route the call's, for the log
   */
  void note(String worker, Status status, Route route) {
    if (!isOfTheWorker(status)) {
      return;
    }
    if (status.getCode() != Status.Code.UNAVAILABLE) {
      if (!records.isEmpty()) {
        answered(worker);
      }
    } else if (failures > 0) {
      records.compute(worker, (name, last) -> failed(name, last, status, route));
    }
  }

  private void answered(String worker) {
    Calls before = records.remove(worker);
    if (before != null && before.times > 0) {
      log.info("worker '{}' answers again; it was left alone", worker);
    }
  }

  /**
   * False when the call was ended by its client, its deadline or this gateway, or refused for its
   * own sake.
   */
  private static boolean isOfTheWorker(Status status) {
    return switch (status.getCode()) {
      case CANCELLED, DEADLINE_EXCEEDED -> false;
      default ->
          switch (status.getCause()) {
            case LostCall lost -> lost.isServersFault();
            case Refusal _ -> false;
            case null, default -> true;
          };
    };
  }

  private Calls failed(String worker, @Nullable Calls last, Status status, Route route) {
    if (last != null && last.out && last.until - clock.getAsLong() > 0) {
      return last; // calls already in progress
    }
    int failed = last == null ? 1 : last.failed + 1;
    int times = last == null ? 0 : last.times;
    if (failed < failures) {
      return new Calls(failed, times, false, 0);
    }
    long time = nanos << Math.min(times, MOST_DOUBLINGS);
    ejections.incrementAndGet();
    Instant at = wall.instant();
    var told =
        new EjectionReport.Last(
            status.getCode().name(), text(status), failures, at, at.plusNanos(time));
    histories.merge(
        worker, new History(1, told), (known, one) -> new History(known.ejections + 1, told));
    route.log(
        () ->
            log.warn(
                "worker '{}' is left alone for {} ms, until {}: {}",
                worker,
                time / 1_000_000,
                told.untilText(),
                told.words()));
    return new Calls(0, times + 1, true, clock.getAsLong() + time);
  }

  /** The worker chose the text: it must not fill the log, which itself keeps it in one line. */
  private static String text(Status status) {
    String text = status.getDescription();
    if (text == null || text.length() <= MOST_TEXT) {
      return text == null ? "" : text;
    }
    int most = Character.isHighSurrogate(text.charAt(MOST_TEXT - 1)) ? MOST_TEXT - 1 : MOST_TEXT;
    return text.substring(0, most) + "...";
  }

  private boolean isOut(String worker) {
    Calls record = records.get(worker);
    return record != null && record.out && record.until - clock.getAsLong() > 0;
  }

  /** The workers that may be asked; all when all are ejected. */
  List<WorkerView> without(List<WorkerView> workers) {
    if (records.isEmpty()) {
      return workers;
    }
    List<WorkerView> left = new ArrayList<>(workers.size());
    for (WorkerView worker : workers) {
      if (!isOut(worker.name())) {
        left.add(worker);
      }
    }
    return left.isEmpty() ? workers : left;
  }

  void retain(Set<String> workers) {
    records.keySet().retainAll(workers);
    histories.keySet().retainAll(workers);
  }

  /** What operators are told of a worker. */
  public EjectionReport report(String worker) {
    Calls calls = records.get(worker);
    History history = histories.get(worker);
    return new EjectionReport(
        isOut(worker),
        calls == null ? 0 : calls.failed,
        history == null ? 0 : history.ejections,
        history == null ? null : history.last);
  }

  /** How often a worker was ejected. */
  public long ejections() {
    return ejections.get();
  }
}
