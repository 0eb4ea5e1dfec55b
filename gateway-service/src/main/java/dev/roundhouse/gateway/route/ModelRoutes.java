package dev.roundhouse.gateway.route;

import dev.roundhouse.gateway.fleet.Fleet;
import dev.roundhouse.gateway.fleet.ModelView;
import dev.roundhouse.gateway.fleet.WorkerView;
import dev.roundhouse.gateway.placement.Placement;
import dev.roundhouse.grpc.CallRouter;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import io.grpc.Status;
import io.grpc.StatusException;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * Gives each inference to a worker. A stream stays with the worker of its first request, and the
 * requests of a sequence go to the one that its name leads to, as long as the same workers serve
 * the model: its state is there. Thread-safe, never waits.
 */
public final class ModelRoutes implements CallRouter {
  private static final String UNARY =
      GRPCInferenceServiceGrpc.getModelInferMethod().getFullMethodName();
  private static final Set<String> INFERENCES =
      Set.of(UNARY, GRPCInferenceServiceGrpc.getModelStreamInferMethod().getFullMethodName());

  private final RouteSettings settings;
  private final Runnable refresh;
  private final Map<String, WorkLedger> ledgers = new ConcurrentHashMap<>();
  private final Map<String, ReplicaRouter> routers = new ConcurrentHashMap<>();
  private volatile Fleet fleet = Fleet.EMPTY;
  private volatile Placement placement = Placement.NONE;

  /**
   * @param refresh asked for when a worker has not what it was said to have; returns at once
   */
  public ModelRoutes(RouteSettings settings, Runnable refresh) {
    this.settings = settings;
    this.refresh = refresh;
  }

  /** The workers have been looked at. */
  public void seen(Fleet now) {
    fleet = now;
    routers.keySet().removeIf(model -> now.serving(model).isEmpty());
  }

  /** Models have been placed. */
  public void placed(Placement now) {
    placement = now;
  }

  /** The work that a worker has been given and has not answered. */
  public WorkLedger ledger(String worker) {
    return ledgers.computeIfAbsent(worker, unknown -> new WorkLedger());
  }

  @Override
  public boolean forwards(String method) {
    return INFERENCES.contains(method);
  }

  @Override
  public boolean asksOnce(String method) {
    return method.equals(UNARY);
  }

  @Override
  public @Nullable Route route(String method, ByteBuffer begin, boolean more)
      throws StatusException {
    RequestHead head = RequestHead.read(begin, more);
    return head == null ? null : route(head);
  }

  /**
   * Gives a request to a worker.
   *
   * @throws StatusException NOT_FOUND when no worker has the model, UNAVAILABLE when none is ready
   */
  public Route route(RequestHead head) throws StatusException {
    Fleet now = fleet;
    String model = head.model();
    List<WorkerView> serving = now.serving(model);
    long work = settings.basis().nanos(now, model, head.items());
    if (serving.isEmpty()) {
      WorkerView refusing = whoCanRefuse(now, model);
      return way(head, List.of(refusing), router(model, now, List.of(refusing.name())), work, true);
    }
    if (!head.sequence().isEmpty()) {
      String home = homeOf(head, serving);
      return way(head, serving, router(model, now, List.of(home)), work, true);
    }
    return way(head, serving, candidates(now, head, serving), work, false);
  }

  /** Of a model that nobody serves, a worker that has it, or any, knows best what is wrong. */
  private WorkerView whoCanRefuse(Fleet now, String model) throws StatusException {
    refresh.run();
    List<WorkerView> ready = now.ready();
    if (ready.isEmpty()) {
      throw Status.UNAVAILABLE.withDescription("no worker is ready").asException();
    }
    return ready.stream()
        .filter(worker -> worker.models().containsKey(model))
        .findFirst()
        .orElse(ready.getFirst());
  }

  private Way way(
      RequestHead head, List<WorkerView> serving, ReplicaRouter router, long work, boolean bound) {
    Reservation reservation = router.reserve(head.items(), work);
    return new Way(head, serving, router, work, bound, new HashSet<>(), reservation);
  }

  private ReplicaRouter candidates(Fleet now, RequestHead head, List<WorkerView> serving) {
    String model = head.model();
    return switch (settings.mode()) {
      case ROUND_ROBIN -> inTurn(model, serving);
      case LEAST_OUTSTANDING -> router(model, now, List.of(firstToBegin(model, serving)));
      case LPT_PACKING -> {
        List<String> placed =
            placement.workers(model).stream()
                .filter(name -> serving.stream().anyMatch(worker -> worker.name().equals(name)))
                .toList();
        yield placed.isEmpty() ? inTurn(model, serving) : router(model, now, placed);
      }
    };
  }

  private static List<String> names(List<WorkerView> workers) {
    return workers.stream().map(WorkerView::name).toList();
  }

  private String firstToBegin(String model, List<WorkerView> serving) {
    String best = "";
    long least = Long.MAX_VALUE;
    for (WorkerView worker : serving) {
      ModelView view = worker.models().get(model);
      long load = view == null || view.resident() ? 0 : view.loadNanos();
      long begin = ledger(worker.name()).nanos() + load;
      if (begin < least) {
        least = begin;
        best = worker.name();
      }
    }
    return best;
  }

  /** The worker with the highest hash of sequence and name: few move when workers come or go. */
  private static String homeOf(RequestHead head, List<WorkerView> serving) {
    return serving.stream()
        .map(WorkerView::name)
        .max(Comparator.comparingLong(name -> hash(head, name)))
        .orElseThrow();
  }

  private static long hash(RequestHead head, String worker) {
    CRC32C hash = new CRC32C();
    hash.update(
        (head.model() + "\n" + head.sequence() + "\n" + worker).getBytes(StandardCharsets.UTF_8));
    return hash.getValue();
  }

  private ReplicaRouter inTurn(String model, List<WorkerView> serving) {
    return kept(model, FillMode.RUN, OpeningPolicy.FILL_RR, 1, names(serving));
  }

  private ReplicaRouter router(String model, Fleet now, List<String> workers) {
    long quantum = ReplicaRouter.quantum(settings.fillFactor(), now.maxBatch(model));
    return kept(model, settings.fillMode(), settings.opening(), quantum, workers);
  }

  /** Keeps the rotation and the runs of a model as long as its workers are the same. */
  private ReplicaRouter kept(
      String model, FillMode mode, OpeningPolicy opening, long quantum, List<String> workers) {
    if (workers.size() == 1) {
      return new ReplicaRouter(mode, opening, quantum, workers, this::ledger);
    }
    return routers.compute(
        model,
        (name, known) ->
            known != null && known.workers().equals(workers) && known.quantum() == quantum
                ? known
                : new ReplicaRouter(mode, opening, quantum, workers, this::ledger));
  }

  private final class Way implements Route {
    private final RequestHead head;
    private final List<WorkerView> serving;
    private final ReplicaRouter router;
    private final long work;
    private final boolean bound;
    private final Set<String> tried;
    private final Reservation reservation;

    /**
     * @param bound when no other worker can answer
     * @param tried workers that could not
     */
    Way(
        RequestHead head,
        List<WorkerView> serving,
        ReplicaRouter router,
        long work,
        boolean bound,
        Set<String> tried,
        Reservation reservation) {
      this.head = head;
      this.serving = serving;
      this.router = router;
      this.work = work;
      this.bound = bound;
      this.tried = tried;
      this.reservation = reservation;
    }

    @Override
    public SocketAddress address() {
      String name = reservation.worker();
      for (WorkerView worker : serving) {
        if (worker.name().equals(name)) {
          return worker.address();
        }
      }
      throw new IllegalStateException("no worker '" + name + "' serves " + head.model());
    }

    /** A worker that cannot be reached, or has not the model any more, is followed by another. */
    @Override
    public @Nullable Route other(Status status) {
      boolean gone = status.getCode() == Status.Code.NOT_FOUND;
      if (gone) {
        refresh.run();
      }
      if (bound || !(gone || status.getCode() == Status.Code.UNAVAILABLE)) {
        return null;
      }
      tried.add(reservation.worker());
      Reservation next = router.reserveAnother(tried, head.items(), work);
      ReplicaRouter with = router;
      if (next == null) {
        List<String> rest = names(serving).stream().filter(name -> !tried.contains(name)).toList();
        if (rest.isEmpty()) {
          return null;
        }
        with = router(head.model(), fleet, List.of(rest.getFirst()));
        next = with.reserve(head.items(), work);
      }
      reservation.close();
      return new Way(head, serving, with, work, false, tried, next);
    }

    @Override
    public void ended(Status status) {
      reservation.close();
    }
  }
}
