package dev.roundhouse.gateway.route;

import dev.roundhouse.gateway.fleet.WorkerView;
import dev.roundhouse.transport.forward.LostCall;
import dev.roundhouse.transport.forward.Refusal;
import io.grpc.Status;
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

  private final int failures;
  private final long nanos;
  private final LongSupplier clock;
  private final Map<String, Calls> records = new ConcurrentHashMap<>();
  private final AtomicLong ejections = new AtomicLong();

  /**
   * @param failed calls in a row; immutable, so that a request sees both or neither
   * @param until the end of the ejection, if it is ejected
   */
  private record Calls(int failed, int times, boolean out, long until) {}

  /**
   * @param failures in a row; 0 disables ejection
   * @param nanos the first time; twice as long each further time, up to 16 times
   */
  public Ejection(int failures, long nanos, LongSupplier clock) {
    this.failures = failures;
    this.nanos = nanos;
    this.clock = clock;
  }

  /** A call to a worker has ended. */
  void note(String worker, Status status) {
    if (!isOfTheWorker(status)) {
      return;
    }
    if (status.getCode() != Status.Code.UNAVAILABLE) {
      if (!records.isEmpty()) {
        records.remove(worker);
      }
    } else if (failures > 0) {
      records.compute(worker, (name, last) -> failed(name, last));
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

  private Calls failed(String worker, @Nullable Calls last) {
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
    log.warn(
        "worker '{}' is left alone for {} ms: {} calls in a row could not be answered",
        worker,
        time / 1_000_000,
        failures);
    return new Calls(0, times + 1, true, clock.getAsLong() + time);
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
  }

  /** How often a worker was ejected. */
  public long ejections() {
    return ejections.get();
  }
}
