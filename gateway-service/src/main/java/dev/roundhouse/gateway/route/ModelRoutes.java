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
      return new Way(head, List.of(refusing), null, work, null, outside(refusing.name(), work));
    }
    ReplicaRouter router = router(now, model, serving);
    if (!head.sequence().isEmpty()) {
      String home = homeOf(head, serving);
      Reservation place = router.reserveAt(home, head.items(), work);
      return new Way(head, serving, null, work, null, place == null ? outside(home, work) : place);
    }
    Reservation place =
        settings.mode() == Mode.LEAST_OUTSTANDING
            ? router.reserveLeast(name -> begin(now, name, model), head.items(), work)
            : router.reserve(head.items(), work);
    return new Way(head, serving, router, work, null, place);
  }

  private Reservation outside(String worker, long work) {
    return ledger(worker).reserve(worker, work);
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

  /** Keeps the rotation, the runs and the counts of a model as long as it is served. */
  private ReplicaRouter router(Fleet now, String model, List<WorkerView> serving) {
    List<String> placed =
        settings.mode() == Mode.LPT_PACKING ? placed(model, serving) : List.<String>of();
    List<String> workers = placed.isEmpty() ? now.servingNames(model) : placed;
    boolean inTurn = placed.isEmpty() && settings.mode() != Mode.LEAST_OUTSTANDING;
    FillMode fill = inTurn ? FillMode.RUN : settings.fillMode();
    OpeningPolicy opening = inTurn ? OpeningPolicy.FILL_RR : settings.opening();
    long quantum = inTurn ? 1 : ReplicaRouter.quantum(settings.fillFactor(), now.maxBatch(model));
    ReplicaRouter known = routers.get(model);
    if (known != null && known.with(fill, opening, quantum, workers, this::ledger) == known) {
      return known;
    }
    return routers.compute(
        model,
        (name, last) ->
            last == null
                ? new ReplicaRouter(fill, opening, quantum, workers, this::ledger)
                : last.with(fill, opening, quantum, workers, this::ledger));
  }

  /** Those of its workers that serve it now. */
  private List<String> placed(String model, List<WorkerView> serving) {
    List<String> placed = placement.workers(model);
    for (String worker : placed) {
      if (!contains(serving, worker)) {
        return placed.stream().filter(each -> contains(serving, each)).toList();
      }
    }
    return placed;
  }

  private static boolean contains(List<WorkerView> workers, String name) {
    for (WorkerView worker : workers) {
      if (worker.name().equals(name)) {
        return true;
      }
    }
    return false;
  }

  /** When a worker would begin with a request, in nanoseconds from now. */
  private long begin(Fleet now, String worker, String model) {
    ModelView view = now.worker(worker).models().get(model);
    long load = view == null || view.resident() ? 0 : view.loadNanos();
    return ledger(worker).nanos() + load;
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

  private final class Way implements Route {
    private final RequestHead head;
    private final List<WorkerView> serving;
    private final @Nullable ReplicaRouter router;
    private final long work;
    private final @Nullable Set<String> tried;
    private final Reservation reservation;

    /**
     * @param router null when no other worker can answer
     * @param tried workers that could not; null for none
     */
    Way(
        RequestHead head,
        List<WorkerView> serving,
        @Nullable ReplicaRouter router,
        long work,
        @Nullable Set<String> tried,
        Reservation reservation) {
      this.head = head;
      this.serving = serving;
      this.router = router;
      this.work = work;
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
      if (router == null || !(gone || status.getCode() == Status.Code.UNAVAILABLE)) {
        return null;
      }
      Set<String> had = tried == null ? new HashSet<>() : tried;
      had.add(reservation.worker());
      Reservation next = router.reserveAnother(had, head.items(), work);
      if (next == null) {
        next =
            serving.stream()
                .map(WorkerView::name)
                .filter(name -> !had.contains(name))
                .findFirst()
                .map(name -> outside(name, work))
                .orElse(null);
      }
      if (next == null) {
        return null;
      }
      reservation.close();
      return new Way(head, serving, router, work, had, next);
    }

    @Override
    public void ended(Status status) {
      reservation.close();
    }
  }
}
