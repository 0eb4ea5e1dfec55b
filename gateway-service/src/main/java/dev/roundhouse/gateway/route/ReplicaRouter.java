package dev.roundhouse.gateway.route;

import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Chooses among the replicas of one model. Choosing and counting are one step, so that two
 * concurrent requests do not both see a replica idle. Thread-safe; shares its lock and its counts
 * with the router that it follows.
 */
public final class ReplicaRouter {
  private final FillMode mode;
  private final OpeningPolicy opening;
  private final long quantum;
  private final List<String> workers;
  private final List<Replica> replicas;

  /** Including former replicas until they have answered everything. */
  private final Map<String, Replica> known;

  private final Object lock;

  /** The replica that was chosen last. */
  private int cursor = -1;

  // The current run of requests to one replica.
  private int target = -1;
  private long sent;

  /**
   * @param quantum items of a full batch, from 1
   * @param workers at least one, each once
   * @param ledgers of the workers
   */
  public ReplicaRouter(
      FillMode mode,
      OpeningPolicy opening,
      long quantum,
      List<String> workers,
      Function<String, WorkLedger> ledgers) {
    this(mode, opening, quantum, workers, ledgers, null);
  }

  private ReplicaRouter(
      FillMode mode,
      OpeningPolicy opening,
      long quantum,
      List<String> workers,
      Function<String, WorkLedger> ledgers,
      @Nullable ReplicaRouter before) {
    if (workers.isEmpty() || Set.copyOf(workers).size() != workers.size()) {
      throw new IllegalArgumentException("a model has replicas on different workers: " + workers);
    }
    if (quantum < 1) {
      throw new IllegalArgumentException("a batch has 1 item or more, got " + quantum);
    }
    this.mode = mode;
    this.opening = opening;
    this.quantum = quantum;
    this.workers = List.copyOf(workers);
    lock = before == null ? new Object() : before.lock;
    synchronized (lock) {
      known = before == null ? new HashMap<>() : new HashMap<>(before.known);
      known.values().removeIf(each -> each.items == 0 && !workers.contains(each.worker));
      replicas =
          workers.stream()
              .map(
                  worker ->
                      known.computeIfAbsent(
                          worker, unknown -> new Replica(worker, ledgers.apply(worker))))
              .toList();
    }
  }

  /** A router of the same model that continues from this one; this one if nothing differs. */
  ReplicaRouter with(
      FillMode newMode,
      OpeningPolicy newOpening,
      long newQuantum,
      List<String> newWorkers,
      Function<String, WorkLedger> ledgers) {
    return mode == newMode
            && opening == newOpening
            && quantum == newQuantum
            && workers.equals(newWorkers)
        ? this
        : new ReplicaRouter(newMode, newOpening, newQuantum, newWorkers, ledgers, this);
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
  public Reservation reserve(int items, long work) {
    synchronized (lock) {
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
  }

  /**
   * Assigns a request to the replica with the lowest value; the first of equals.
   *
   * @param begin a worker's value; called under the lock
   */
  public Reservation reserveLeast(ToLongFunction<String> begin, int items, long work) {
    synchronized (lock) {
      Replica best = replicas.getFirst();
      long least = Long.MAX_VALUE;
      for (Replica replica : replicas) {
        long said = begin.applyAsLong(replica.worker);
        if (said < least) {
          least = said;
          best = replica;
        }
      }
      return reserve(best, items, work);
    }
  }

  /** Assigns a request to this replica; null when it is not a replica. */
  public @Nullable Reservation reserveAt(String worker, int items, long work) {
    int place = workers.indexOf(worker);
    if (place < 0) {
      return null;
    }
    synchronized (lock) {
      return reserve(replicas.get(place), items, work);
    }
  }

  /**
   * As {@link #reserve(int, long)}, when those tried could not answer: the replica with the fewest
   * outstanding batches.
   *
   * @param tried workers
   * @return null when all of them were tried
   */
  public @Nullable Reservation reserveAnother(Set<String> tried, int items, long work) {
    synchronized (lock) {
      return replicas.stream()
          .filter(replica -> !tried.contains(replica.worker))
          .min(
              Comparator.<Replica>comparingLong(replica -> replica.batches(quantum))
                  .thenComparingLong(replica -> replica.items)
                  .thenComparing(replica -> replica.worker))
          .map(replica -> reserve(replica, items, work))
          .orElse(null);
    }
  }

  /** Outstanding items by worker. */
  public Map<String, Long> items() {
    synchronized (lock) {
      return replicas.stream().collect(Collectors.toMap(each -> each.worker, each -> each.items));
    }
  }

  /** What a worker was given. */
  public Load load(String worker) {
    synchronized (lock) {
      Replica replica = known.get(worker);
      return replica == null ? Load.NONE : new Load(replica.items, replica.routed);
    }
  }

  /**
   * What one worker was given of the model.
   *
   * @param items that have not been answered
   * @param routed requests ever
   */
  public record Load(long items, long routed) {
    /** Nothing yet. */
    public static final Load NONE = new Load(0, 0);

    Load plus(Load other) {
      return new Load(items + other.items, routed + other.routed);
    }
  }

  /** Items of a full batch. */
  public long quantum() {
    return quantum;
  }

  public List<String> workers() {
    return workers;
  }

  /** True for its workers, and for those before them that have requests of it. */
  boolean knows(String worker) {
    synchronized (lock) {
      return known.containsKey(worker);
    }
  }

  /** True when all of its requests have been answered. */
  boolean isOver() {
    synchronized (lock) {
      return known.values().stream().allMatch(each -> each.items == 0);
    }
  }

  private Reservation reserve(Replica replica, int items, long work) {
    replica.items += items;
    replica.routed++;
    replica.ledger.add(work);
    return new Reservation(replica.worker, () -> release(replica, items, work));
  }

  private void release(Replica replica, int items, long work) {
    synchronized (lock) {
      replica.items -= items;
    }
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

  /** The others have answered a full batch more. */
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

  /** The least; among equals, the one whose worker has least work, then in turn. */
  private int argmin(Comparator<Integer> order) {
    return argminInTurn(order.thenComparingLong(i -> replicas.get(i).ledger.nanos()));
  }

  private int argminInTurn(Comparator<Integer> order) {
    int best = Math.floorMod(cursor + 1, replicas.size());
    for (int i = 2; i <= replicas.size(); i++) {
      int next = Math.floorMod(cursor + i, replicas.size());
      if (order.compare(next, best) < 0) {
        best = next;
      }
    }
    return best;
  }
}
