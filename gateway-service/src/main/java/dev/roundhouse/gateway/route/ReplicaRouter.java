package dev.roundhouse.gateway.route;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Chooses among the replicas of one model. A choice and what it adds to the replica are one step,
 * so that two requests at the same moment do not both see it idle. Thread-safe.
 */
public final class ReplicaRouter {
  private final FillMode mode;
  private final OpeningPolicy opening;
  private final long quantum;
  private final List<Replica> replicas;

  /** The replica that was chosen last. */
  private int cursor = -1;

  // Of a run of requests to one replica.
  private int target = -1;
  private long sent;

  /**
   * @param quantum items that make a full batch, from 1
   * @param workers at least one, each once
   * @param ledgers of the workers
   */
  public ReplicaRouter(
      FillMode mode,
      OpeningPolicy opening,
      long quantum,
      List<String> workers,
      Function<String, WorkLedger> ledgers) {
    if (workers.isEmpty() || Set.copyOf(workers).size() != workers.size()) {
      throw new IllegalArgumentException("a model has replicas on different workers: " + workers);
    }
    if (quantum < 1) {
      throw new IllegalArgumentException("a batch has 1 item or more, got " + quantum);
    }
    this.mode = mode;
    this.opening = opening;
    this.quantum = quantum;
    replicas = workers.stream().map(worker -> new Replica(worker, ledgers.apply(worker))).toList();
  }

  /**
   * How many items a run has.
   *
   * @param fillFactor batches to fill, above 0
   * @param maxBatch items of a batch; 0 or less when it is not known
   */
  public static long quantum(double fillFactor, long maxBatch) {
    return maxBatch <= 0 ? 1 : Math.max(1, Math.round(fillFactor * maxBatch));
  }

  /**
   * Gives a request to a replica.
   *
   * @param items of the request, from 1
   * @param work that it is expected to be, in nanoseconds of device time
   */
  public synchronized Reservation reserve(int items, long work) {
    int chosen =
        switch (mode) {
          case RUN -> run(items);
          case SPREAD -> argmin(Comparator.<Integer>comparingLong(i -> replicas.get(i).items));
          case INFLIGHT ->
              argmin(
                  Comparator.<Integer>comparingLong(i -> replicas.get(i).batches(quantum))
                      .thenComparingLong(i -> -replicas.get(i).items));
        };
    cursor = chosen;
    return reserve(replicas.get(chosen), items, work);
  }

  /**
   * As {@link #reserve(int, long)}, when those that were tried could not answer: the replica with
   * the fewest batches on their way.
   *
   * @param tried workers
   * @return null when all of them were tried
   */
  public synchronized @Nullable Reservation reserveAnother(
      Set<String> tried, int items, long work) {
    return replicas.stream()
        .filter(replica -> !tried.contains(replica.worker))
        .min(
            Comparator.<Replica>comparingLong(replica -> replica.batches(quantum))
                .thenComparingLong(replica -> replica.items)
                .thenComparing(replica -> replica.worker))
        .map(replica -> reserve(replica, items, work))
        .orElse(null);
  }

  /** Items on their way, by worker. */
  public synchronized Map<String, Long> items() {
    return replicas.stream().collect(Collectors.toMap(each -> each.worker, each -> each.items));
  }

  /** How many requests each worker was given. */
  public Map<String, Long> routed() {
    Map<String, Long> routed = new HashMap<>();
    replicas.forEach(each -> routed.put(each.worker, each.routed.get()));
    return routed;
  }

  /** Items of a full batch. */
  public long quantum() {
    return quantum;
  }

  public List<String> workers() {
    return replicas.stream().map(replica -> replica.worker).toList();
  }

  private Reservation reserve(Replica replica, int items, long work) {
    replica.items += items;
    replica.ledger.add(work);
    replica.routed.incrementAndGet();
    return new Reservation(this, replica, items, work);
  }

  synchronized void release(Replica replica, int items, long work) {
    replica.items -= items;
    replica.ledger.remove(work);
  }

  private int run(int items) {
    if (target < 0 || sent >= quantum || isBehind(target) || isIdle()) {
      target = open();
      sent = 0;
    }
    sent += items;
    return target;
  }

  /** Others have answered a full batch more. */
  private boolean isBehind(int replica) {
    long batches = replicas.get(replica).batches(quantum);
    for (Replica other : replicas) {
      if (other.batches(quantum) < batches) {
        return true;
      }
    }
    return false;
  }

  private boolean isIdle() {
    for (Replica replica : replicas) {
      if (replica.items > 0) {
        return false;
      }
    }
    return true;
  }

  private int open() {
    Comparator<Integer> behind = Comparator.comparingLong(i -> replicas.get(i).batches(quantum));
    return switch (opening) {
      case FILL_LEAST -> argmin(behind);
      case FILL_RR -> argminInTurn(behind);
    };
  }

  /** The least; of those that are equal, the one whose worker has least work, then in turn. */
  private int argmin(Comparator<Integer> order) {
    return argminInTurn(order.thenComparingLong(i -> replicas.get(i).ledger.nanos()));
  }

  private int argminInTurn(Comparator<Integer> order) {
    List<Integer> inTurn = new ArrayList<>(replicas.size());
    for (int i = 1; i <= replicas.size(); i++) {
      inTurn.add(Math.floorMod(cursor + i, replicas.size()));
    }
    return inTurn.stream().min(order).orElseThrow(); // the first of those that are equal
  }
}
