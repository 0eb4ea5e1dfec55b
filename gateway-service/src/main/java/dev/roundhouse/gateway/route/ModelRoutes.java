package dev.roundhouse.gateway.route;

import dev.roundhouse.gateway.fleet.Fleet;
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
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Gives each inference to a worker, by a {@link FleetRouter}. A stream stays with the worker of its
 * first request, and the requests of a sequence go to the same worker: its state is there. Where
 * only some workers take tensor streams, those have a router of their own. Thread-safe, never
 * waits.
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
  private final FleetRouter everyone;

  /** Of those workers that take tensor streams. */
  private final FleetRouter streaming;

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
    everyone = new FleetRouter(context, settings);
    streaming = new FleetRouter(context, settings);
  }

  /** Changes how requests are distributed, from the next one on. */
  public void set(RouteSettings changed) {
    everyone.set(changed);
    streaming.set(changed);
  }

  public RouteSettings settings() {
    return everyone.settings();
  }

  /** The workers as they were last seen. */
  public Fleet fleet() {
    return everyone.fleet();
  }

  /** What a worker was given of a model. */
  public ReplicaRouter.Load load(String model, String worker) {
    return load(everyone, model, worker).plus(load(streaming, model, worker));
  }

  private static ReplicaRouter.Load load(FleetRouter by, String model, String worker) {
    ReplicaRouter router = by.known(model);
    return router == null ? ReplicaRouter.Load.NONE : router.load(worker);
  }

  /** A model's outstanding items, by those workers that its requests may be given to. */
  public Map<String, Long> items(String model) {
    Map<String, Long> all = new HashMap<>();
    for (FleetRouter each : new FleetRouter[] {everyone, streaming}) {
      ReplicaRouter router = each.known(model);
      if (router != null) {
        router.items().forEach((worker, count) -> all.merge(worker, count, Long::sum));
      }
    }
    return all;
  }

  /** The workers have been checked. */
  public void seen(Fleet now) {
    everyone.seen(now);
    streaming.seen(now.streaming());
    if (streaming.fleet() == now) {
      streaming.rest();
    }
    Set<String> names = now.workers().stream().map(WorkerView::name).collect(Collectors.toSet());
    context.ejection().retain(names);
    calls.keySet().retainAll(names);
    context.hedging().retain(everyone.models());
    ledgers
        .entrySet()
        .removeIf(each -> !names.contains(each.getKey()) && isIdle(each.getKey(), each.getValue()));
  }

  /** No call is open or may still be given: a worker that comes back goes on with its own. */
  private boolean isIdle(String worker, WorkLedger ledger) {
    return ledger.open() == 0 && !everyone.knows(worker) && !streaming.knows(worker);
  }

  /** Models have been placed. */
  public void placed(Placement now) {
    everyone.placed(now);
    streaming.placed(now);
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
      return everyone.description(head.model(), descriptions);
    }
    if (caller != null) {
      caller.infer(head.model());
    }
    return everyone.route(head, method.equals(UNARY));
  }

  /**
   * Assigns a request that must not be sent to two workers.
   *
   * @throws StatusException UNAVAILABLE when no worker is ready
   */
  public RouteAttempt routeOnce(RequestHead head) throws StatusException {
    return everyone.route(head, false);
  }

  /**
   * Assigns a single-message request to a worker.
   *
   * @throws StatusException NOT_FOUND when no worker has the model, UNAVAILABLE when none is ready
   */
  public RouteAttempt route(RequestHead head) throws StatusException {
    return everyone.route(head, true);
  }

  /**
   * Assigns a tensor stream to a worker that takes such, as a stream of gRPC.
   *
   * @throws StatusException UNAVAILABLE when no worker that takes any is ready
   */
  public RouteAttempt stream(RequestHead head) throws StatusException {
    Fleet now = streaming.fleet(); // the same as everyone's where every worker takes streams
    if (now.ready().isEmpty() && !everyone.fleet().ready().isEmpty()) {
      throw Status.UNAVAILABLE
          .withDescription(
              "no worker that is ready takes tensor streams; set roundhouse.worker.stream.port at workers, or roundhouse.gateway.workers.NAME.stream here")
          .asException();
    }
    FleetRouter by = now == everyone.fleet() ? everyone : streaming;
    return by.route(head, false);
  }
}
