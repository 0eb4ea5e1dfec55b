package dev.roundhouse.gateway.route;

import dev.roundhouse.gateway.fleet.Fleet;
import dev.roundhouse.gateway.fleet.ModelView;
import dev.roundhouse.gateway.fleet.WorkerView;
import dev.roundhouse.gateway.placement.Placement;
import dev.roundhouse.kserve.codec.CallerHeader;
import dev.roundhouse.kserve.codec.SpentHeader;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.transport.forward.CallRouter;
import dev.roundhouse.transport.forward.LostCall;
import dev.roundhouse.transport.forward.Refusal;
import io.grpc.Status;
import io.grpc.StatusException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * Gives each inference to a worker. A stream stays with the worker of its first request, and the
 * requests of a sequence go to the one chosen by its name, as long as the same workers serve the
 * model: its state is there. Thread-safe, never waits.
 */
public final class ModelRoutes implements CallRouter {
  /** Workers that may have begun with one request. */
  private static final int MOST_BEGUN = 2;

  private static final String UNARY =
      GRPCInferenceServiceGrpc.getModelInferMethod().getFullMethodName();
  private static final String STREAM =
      GRPCInferenceServiceGrpc.getModelStreamInferMethod().getFullMethodName();

  /**
   * Methods that any worker of a model can answer alike. Their messages begin with the model's
   * name.
   */
  private static final Set<String> DESCRIPTIONS =
      Set.of(
          GRPCInferenceServiceGrpc.getModelMetadataMethod().getFullMethodName(),
          GRPCInferenceServiceGrpc.getModelConfigMethod().getFullMethodName());

  private final Runnable refresh;
  private final Ejection ejection;
  private final Hedging hedging;
  private final RouteListener listener;
  private final Map<String, WorkLedger> ledgers = new ConcurrentHashMap<>();
  private final Map<String, ReplicaRouter> routers = new ConcurrentHashMap<>();
  private volatile RouteSettings settings;
  private volatile Fleet fleet = Fleet.EMPTY;
  private volatile Placement placement = Placement.NONE;

  /**
   * @param refresh called when a worker lacks what it was seen with; returns at once
   * @param ejection of workers that cannot be reached
   * @param hedging of slow requests
   * @param listener told of every request's end
   */
  public ModelRoutes(
      RouteSettings settings,
      Runnable refresh,
      Ejection ejection,
      Hedging hedging,
      RouteListener listener) {
    this.settings = settings;
    this.refresh = refresh;
    this.ejection = ejection;
    this.hedging = hedging;
    this.listener = listener;
  }

  /** Changes how requests are distributed, from the next one on. */
  public void set(RouteSettings changed) {
    settings = changed;
  }

  public RouteSettings settings() {
    return settings;
  }

  /** The workers as they were last seen. */
  public Fleet fleet() {
    return fleet;
  }

  /** A model's requests by replica; null when it was never requested. */
  public @Nullable ReplicaRouter router(String model) {
    return routers.get(model);
  }

  /** The workers have been checked. */
  public void seen(Fleet now) {
    fleet = now;
    ejection.retain(now.workers().stream().map(WorkerView::name).collect(Collectors.toSet()));
    routers.keySet().removeIf(model -> now.serving(model).isEmpty());
    hedging.retain(routers.keySet());
  }

  /** Models have been placed. */
  public void placed(Placement now) {
    placement = now;
  }

  /** A worker's outstanding work. */
  public WorkLedger ledger(String worker) {
    return ledgers.computeIfAbsent(worker, unknown -> new WorkLedger());
  }

  @Override
  public boolean forwards(String method) {
    return method.equals(UNARY) || method.equals(STREAM) || DESCRIPTIONS.contains(method);
  }

  @Override
  public boolean unaryRequest(String method) {
    return !method.equals(STREAM);
  }

  @Override
  public String keepsCall() {
    return WireException.BEGAN;
  }

  @Override
  public String refusalTrailer() {
    return WireException.ABOUT;
  }

  @Override
  public String callerHeader() {
    return CallerHeader.NAME;
  }

  @Override
  public String spentHeader() {
    return SpentHeader.NAME;
  }

  @Override
  public @Nullable Route route(String method, ByteBuffer begin, boolean more)
      throws StatusException {
    RequestHead head = RequestHead.read(begin, more);
    if (head == null) {
      return null;
    }
    return DESCRIPTIONS.contains(method)
        ? description(head.model())
        : route(head, method.equals(UNARY));
  }

  /**
   * Assigns a single-message request to a worker.
   *
   * @throws StatusException NOT_FOUND when no worker has the model, UNAVAILABLE when none is ready
   */
  public WorkerRoute route(RequestHead head) throws StatusException {
    return route(head, true);
  }

  private WorkerRoute route(RequestHead head, boolean once) throws StatusException {
    Fleet now = fleet;
    String model = head.model();
    int items = now.items(model, head.rows());
    long work = settings.basis().nanos(now, model, items);
    List<WorkerView> serving = ejection.without(now.serving(model));
    if (serving.isEmpty()) {
      WorkerView refusing = whoCanRefuse(now, model);
      Reservation place = outside(refusing.name(), work);
      return new Way(model, items, List.of(refusing), null, work, true, Route.NEVER, place);
    }
    ReplicaRouter router = router(now, model, serving);
    if (!head.sequence().isEmpty()) {
      String home = homeOf(head, now.serving(model));
      Reservation known = router.reserveAt(home, items, work);
      Reservation place = known == null ? outside(home, work) : known;
      return new Way(model, items, now.serving(model), null, work, true, Route.NEVER, place);
    }
    Reservation place =
        settings.mode() == Mode.LEAST_OUTSTANDING
            ? router.reserveLeast(name -> begin(now, name, model), items, work)
            : router.reserve(items, work);
    boolean hasSecond = once && router.workers().size() > 1;
    long hedgeAfter = hasSecond ? hedging.begin(model) : Route.NEVER;
    return new Way(model, items, serving, router, work, false, hedgeAfter, place);
  }

  private Reservation outside(String worker, long work) {
    return ledger(worker).reserve(worker, work);
  }

  private WorkerRoute description(String model) throws StatusException {
    Fleet now = fleet;
    List<WorkerView> serving = ejection.without(now.serving(model));
    List<WorkerView> asked = serving.isEmpty() ? List.of(whoCanRefuse(now, model)) : serving;
    Reservation place = outside(asked.getFirst().name(), 0);
    return new Way(model, 0, asked, null, 0, false, Route.NEVER, place);
  }

  /** For a model that no one serves, a worker that has it, or any, can best say what is wrong. */
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

  /** Keeps a model's rotation, runs and counts while it is served. */
  private ReplicaRouter router(Fleet now, String model, List<WorkerView> serving) {
    List<String> placed =
        settings.mode() == Mode.LPT_PACKING ? placed(model, serving) : List.<String>of();
    List<String> workers = placed.isEmpty() ? names(now, model, serving) : placed;
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

  private static List<String> names(Fleet now, String model, List<WorkerView> serving) {
    List<String> all = now.servingNames(model);
    return all.size() == serving.size() ? all : serving.stream().map(WorkerView::name).toList();
  }

  /** The workers of its placement that serve it now. */
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

  /** Expected time until a worker would begin a request, in nanoseconds. */
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

  /** A route that knows its worker's name. */
  public interface WorkerRoute extends Route {
    String worker();

    @Override
    @Nullable WorkerRoute other(Status status);

    /** Like {@link Route#hedge}, for a request known to be safe to run twice. */
    @Nullable WorkerRoute hedge();
  }

  /** The workers that one request was sent to. Not thread-safe, like the request's routes. */
  private static final class Asked {
    final Set<String> workers = new HashSet<>();

    /** Workers that may have begun it and have not answered. */
    int begun;
  }

  private final class Way implements WorkerRoute {
    private static final long NOT_ANSWERING = -1;

    private final String model;
    private final int items;
    private final List<WorkerView> serving;
    private final @Nullable ReplicaRouter router;
    private final long work;
    private final boolean bound;
    private final long hedgeAfterNanos;
    private final Reservation reservation;
    private final long began = System.nanoTime();
    private final boolean isHedge;
    private @Nullable Asked asked;
    private long answeringNanos = NOT_ANSWERING;

    /**
     * @param router of the model; null when all workers are as good
     * @param bound whether no other worker can answer
     */
    Way(
        String model,
        int items,
        List<WorkerView> serving,
        @Nullable ReplicaRouter router,
        long work,
        boolean bound,
        long hedgeAfterNanos,
        Reservation reservation) {
      this.model = model;
      this.items = items;
      this.serving = serving;
      this.router = router;
      this.work = work;
      this.bound = bound;
      this.hedgeAfterNanos = hedgeAfterNanos;
      this.reservation = reservation;
      isHedge = false;
    }

    /** A further route of a request already sent to another worker. */
    private Way(Way before, Asked asked, boolean isHedge, Reservation reservation) {
      model = before.model;
      items = before.items;
      serving = before.serving;
      router = before.router;
      work = before.work;
      bound = false;
      hedgeAfterNanos = NEVER;
      this.asked = asked;
      this.isHedge = isHedge;
      this.reservation = reservation;
    }

    @Override
    public String worker() {
      return reservation.worker();
    }

    @Override
    public SocketAddress address() {
      String name = reservation.worker();
      for (WorkerView worker : serving) {
        if (worker.name().equals(name)) {
          return worker.address();
        }
      }
      throw new IllegalStateException("no worker '" + name + "' serves " + model);
    }

    private Asked asked() {
      Asked known = asked;
      if (known == null) {
        known = new Asked();
        asked = known;
      }
      known.workers.add(reservation.worker());
      return known;
    }

    /** Records the worker's failure; true when another may be asked. */
    private boolean noteFailure(Status status) {
      ejection.note(reservation.worker(), status);
      boolean gone = status.getCode() == Status.Code.NOT_FOUND;
      boolean isOfTheWorker =
          gone
              || status.getCode() == Status.Code.UNAVAILABLE
              || status.getCause() == Refusal.OF_MODEL;
      if (status.getCause() == Refusal.OF_REQUEST) {
        return false;
      }
      if (isOfTheWorker) {
        refresh.run();
      }
      LostCall lost = status.getCause() instanceof LostCall why ? why : null;
      boolean unseen =
          gone
              || status.getCause() instanceof ConnectException
              || status.getCause() == Refusal.OF_MODEL
              || (lost != null && lost.isUnseen());
      boolean mayFollow = isOfTheWorker || unseen;
      if (!bound && !unseen) {
        asked().begun++;
      }
      return mayFollow;
    }

    /**
     * Another worker follows one that cannot be reached or no longer has the model. A request that
     * may have begun may be what ended the worker, so it is begun on two at most.
     */
    @Override
    public @Nullable WorkerRoute other(Status status) {
      if (!noteFailure(status) || bound || asked().begun >= MOST_BEGUN) {
        return null;
      }
      Set<String> had = asked().workers;
      Reservation next = router == null ? null : router.reserveAnother(had, items, work);
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
      listener.ended(model, reservation.worker(), status, System.nanoTime() - began, true);
      return new Way(this, asked(), false, next);
    }

    @Override
    public long hedgeAfterNanos() {
      return hedgeAfterNanos;
    }

    @Override
    public @Nullable Route hedge(InputStream message) {
      return RequestHead.mayRunTwice(message) ? hedge() : null;
    }

    @Override
    public @Nullable WorkerRoute hedge() {
      if (router == null || hedgeAfterNanos == NEVER || !hedging.take()) {
        return null;
      }
      Reservation second = router.reserveAnother(asked().workers, items, work);
      if (second == null) {
        hedging.giveBack();
        return null;
      }
      hedging.started();
      Way way = new Way(this, asked(), true, second);
      way.asked();
      return way;
    }

    @Override
    public void answering(long nanos) {
      answeringNanos = nanos;
    }

    @Override
    public void superseded(Status status) {
      if (status.getCode() != Status.Code.CANCELLED) {
        noteFailure(status);
      }
      reservation.close();
    }

    @Override
    public void ended(Status status) {
      ejection.note(reservation.worker(), status);
      reservation.close();
      if (status.isOk() && answeringNanos != NOT_ANSWERING) {
        hedging.answered(model, answeringNanos);
        if (isHedge) {
          hedging.won();
        }
      }
      listener.ended(model, reservation.worker(), status, System.nanoTime() - began, false);
    }
  }
}
