package dev.roundhouse.gateway.route;

import dev.roundhouse.gateway.fleet.Fleet;
import dev.roundhouse.gateway.fleet.ModelView;
import dev.roundhouse.gateway.fleet.WorkerView;
import dev.roundhouse.gateway.payload.PayloadCopies;
import dev.roundhouse.gateway.placement.Placement;
import dev.roundhouse.kserve.codec.CallerHeader;
import dev.roundhouse.kserve.codec.SpentHeader;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.v1.proto.GRPCServiceGrpc;
import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.telemetry.SpanExport;
import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.transport.forward.CallRouter;
import dev.roundhouse.transport.forward.PassingCopy;
import io.grpc.Status;
import io.grpc.StatusException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Comparator;
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
  private static final String UNARY =
      GRPCInferenceServiceGrpc.getModelInferMethod().getFullMethodName();
  private static final String STREAM =
      GRPCInferenceServiceGrpc.getModelStreamInferMethod().getFullMethodName();

  private static final String V1_UNARY = GRPCServiceGrpc.getInferMethod().getFullMethodName();
  private static final String V1_STREAM =
      GRPCServiceGrpc.getStreamInferMethod().getFullMethodName();

  /**
   * Methods that any worker of a model can answer alike. Their messages begin with the model's
   * name.
   */
  private static final Set<String> DESCRIPTIONS =
      Set.of(
          GRPCInferenceServiceGrpc.getModelMetadataMethod().getFullMethodName(),
          GRPCInferenceServiceGrpc.getModelConfigMethod().getFullMethodName());

  private final RouteContext context;
  private final RouteContext descriptions;
  private final boolean tracesCalls;
  private final boolean servesV1;
  private final @Nullable PayloadCopies copies;
  private final Map<String, WorkLedger> ledgers = new ConcurrentHashMap<>();
  private final Map<String, WorkerCalls> calls = new ConcurrentHashMap<>();
  private final Map<String, ReplicaRouter> routers = new ConcurrentHashMap<>();
  private volatile RouteSettings settings;
  private volatile Fleet fleet = Fleet.EMPTY;

  /** Those of its workers that take tensor streams. */
  private volatile Fleet streaming = Fleet.EMPTY;

  private volatile Placement placement = Placement.NONE;

  /**
   * @param refresh called when a worker lacks what it was seen with; returns at once
   * @param ejection of workers that cannot be reached
   * @param hedging of slow requests
   * @param listener told of every request's end
   * @param spans of requests
   * @param servesV1 whether inference by v1 is sent on too
   * @param copies of requests; null when nothing is copied
   */
  public ModelRoutes(
      RouteSettings settings,
      Runnable refresh,
      Ejection ejection,
      Hedging hedging,
      RouteListener listener,
      SpanExport spans,
      boolean servesV1,
      @Nullable PayloadCopies copies) {
    this.settings = settings;
    this.servesV1 = servesV1;
    this.copies = copies;
    tracesCalls = spans.contexts() != null;
    context =
        new RouteContext(
            refresh,
            ejection,
            hedging,
            listener,
            this::ledger,
            this::calls,
            tracesCalls ? spans : null);
    descriptions = context.withoutSpans();
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
    streaming = now.streaming();
    Set<String> names = now.workers().stream().map(WorkerView::name).collect(Collectors.toSet());
    context.ejection().retain(names);
    calls.keySet().retainAll(names);
    routers.keySet().removeIf(model -> now.serving(model).isEmpty());
    context.hedging().retain(routers.keySet());
    ledgers
        .entrySet()
        .removeIf(each -> !names.contains(each.getKey()) && isIdle(each.getKey(), each.getValue()));
  }

  /** No call is open or may still be given: a worker that comes back goes on with its own. */
  private boolean isIdle(String worker, WorkLedger ledger) {
    return ledger.open() == 0 && routers.values().stream().noneMatch(each -> each.knows(worker));
  }

  /** Models have been placed. */
  public void placed(Placement now) {
    placement = now;
  }

  /** A worker's outstanding work. */
  public WorkLedger ledger(String worker) {
    return ledgers.computeIfAbsent(worker, unknown -> new WorkLedger());
  }

  /** What became of a worker's calls. */
  public WorkerCalls calls(String worker) {
    return calls.computeIfAbsent(worker, unknown -> new WorkerCalls());
  }

  @Override
  public boolean forwards(String method) {
    return method.equals(UNARY)
        || method.equals(STREAM)
        || DESCRIPTIONS.contains(method)
        || (servesV1 && isV1(method));
  }

  private static boolean isV1(String method) {
    return method.equals(V1_UNARY) || method.equals(V1_STREAM);
  }

  @Override
  public boolean unaryRequest(String method) {
    return !method.equals(STREAM) && !method.equals(V1_STREAM);
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

  /** What copies requests; null when nothing does. */
  public @Nullable PayloadCopies copies() {
    return copies;
  }

  @Override
  public @Nullable PassingCopy copy(String method, Route route) {
    PayloadCopies by = copies;
    return by == null || !method.equals(UNARY) ? null : by.call(((RouteAttempt) route).model());
  }

  @Override
  public boolean tracesCalls() {
    return tracesCalls;
  }

  @Override
  public String sealedHeader() {
    return Access.SEALED_CALLER;
  }

  @Override
  public @Nullable Route route(
      String method, @Nullable CallerRights caller, ByteBuffer begin, boolean more)
      throws StatusException {
    RequestHead head = isV1(method) ? V1Head.read(begin, more) : RequestHead.read(begin, more);
    if (head == null) {
      return null;
    }
    if (DESCRIPTIONS.contains(method)) {
      if (caller != null) {
        caller.requireModel(head.model());
      }
      return description(head.model());
    }
    if (caller != null) {
      caller.infer(head.model());
    }
    return route(head, method.equals(UNARY));
  }

  /**
   * Assigns a request that must not be sent to two workers.
   *
   * @throws StatusException UNAVAILABLE when no worker is ready
   */
  public RouteAttempt routeOnce(RequestHead head) throws StatusException {
    return route(head, false);
  }

  /**
   * Assigns a single-message request to a worker.
   *
   * @throws StatusException NOT_FOUND when no worker has the model, UNAVAILABLE when none is ready
   */
  public RouteAttempt route(RequestHead head) throws StatusException {
    return route(head, true);
  }

  /**
   * Assigns a tensor stream to a worker that takes such, as a stream of gRPC.
   *
   * @throws StatusException UNAVAILABLE when no worker that takes any is ready
   */
  public RouteAttempt stream(RequestHead head) throws StatusException {
    Fleet now = streaming;
    if (now.ready().isEmpty() && !fleet.ready().isEmpty()) {
      throw Status.UNAVAILABLE
          .withDescription(
              "no worker that is ready takes tensor streams; set roundhouse.worker.stream.port at workers, or roundhouse.gateway.workers.NAME.stream here")
          .asException();
    }
    return route(now, head, false);
  }

  /**
   * @param mayHedge whether a second worker may be asked beside the first
   */
  private RouteAttempt route(RequestHead head, boolean mayHedge) throws StatusException {
    return route(fleet, head, mayHedge);
  }

  private RouteAttempt route(Fleet now, RequestHead head, boolean mayHedge) throws StatusException {
    String model = head.model();
    int items = now.items(model, head.rows());
    long work = settings.basis().nanos(now, model, items);
    List<WorkerView> serving = context.ejection().without(now.serving(model));
    if (serving.isEmpty()) {
      WorkerView refusing = whoCanRefuse(now, model);
      Reservation place = context.reserve(refusing.name(), work);
      return new RouteAttempt(
          context, model, items, List.of(refusing), null, work, true, Route.NEVER, place);
    }
    ReplicaRouter router = router(now, model, serving);
    if (!head.sequence().isEmpty()) {
      String home = homeOf(head, now.serving(model));
      Reservation known = router.reserveAt(home, items, work);
      Reservation place = known == null ? context.reserve(home, work) : known;
      return new RouteAttempt(
          context, model, items, now.serving(model), null, work, true, Route.NEVER, place);
    }
    Reservation place =
        settings.mode() == Mode.LEAST_OUTSTANDING
            ? router.reserveLeast(name -> begin(now, name, model), items, work)
            : router.reserve(items, work);
    boolean hasSecond = mayHedge && router.workers().size() > 1;
    long hedgeAfter = hasSecond ? context.hedging().begin(model) : Route.NEVER;
    return new RouteAttempt(context, model, items, serving, router, work, false, hedgeAfter, place);
  }

  private RouteAttempt description(String model) throws StatusException {
    Fleet now = fleet;
    List<WorkerView> serving = context.ejection().without(now.serving(model));
    List<WorkerView> asked = serving.isEmpty() ? List.of(whoCanRefuse(now, model)) : serving;
    Reservation place = context.reserve(asked.getFirst().name(), 0);
    return new RouteAttempt(descriptions, model, 0, asked, null, 0, false, Route.NEVER, place);
  }

  /** For a model that no one serves, a worker that has it, or any, can best say what is wrong. */
  private WorkerView whoCanRefuse(Fleet now, String model) throws StatusException {
    context.refresh().run();
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
}
