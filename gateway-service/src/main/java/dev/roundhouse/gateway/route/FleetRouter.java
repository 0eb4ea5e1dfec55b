package dev.roundhouse.gateway.route;

import dev.roundhouse.gateway.fleet.Fleet;
import dev.roundhouse.gateway.fleet.ModelView;
import dev.roundhouse.gateway.fleet.WorkerView;
import dev.roundhouse.gateway.placement.Placement;
import dev.roundhouse.transport.forward.CallRouter.Route;
import io.grpc.Status;
import io.grpc.StatusException;
import java.nio.charset.StandardCharsets;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * Chooses the worker of a request among those of one fleet, and keeps each model's rotation, runs
 * and counts while the fleet serves it. Thread-safe, never waits.
 */
final class FleetRouter {
  private final RouteContext context;
  private final Map<String, ReplicaRouter> routers = new ConcurrentHashMap<>();
  private volatile RouteSettings settings;
  private volatile Fleet fleet = Fleet.EMPTY;
  private volatile Placement placement = Placement.NONE;

  FleetRouter(RouteContext context, RouteSettings settings) {
    this.context = context;
    this.settings = settings;
  }

  /** Changes how requests are distributed, from the next one on. */
  void set(RouteSettings changed) {
    settings = changed;
  }

  RouteSettings settings() {
    return settings;
  }

  /** The workers as they were last seen. */
  Fleet fleet() {
    return fleet;
  }

  /** The workers have been checked. */
  void seen(Fleet now) {
    fleet = now;
    routers.keySet().removeIf(model -> now.serving(model).isEmpty());
  }

  /**
   * It is not asked for the time being: what it keeps of workers is kept while they owe answers.
   */
  void rest() {
    routers.values().removeIf(ReplicaRouter::isOver);
  }

  /** Models have been placed. */
  void placed(Placement now) {
    placement = now;
  }

  /** A model's requests by replica; null when it was never requested. */
  @Nullable ReplicaRouter known(String model) {
    return routers.get(model);
  }

  /** Models that are served and have been requested. */
  Set<String> models() {
    return routers.keySet();
  }

  /** Whether a model's requests may still be given to a worker, or are open there. */
  boolean knows(String worker) {
    return routers.values().stream().anyMatch(each -> each.knows(worker));
  }

  /**
   * Assigns a request to a worker. The requests of a sequence go to the one chosen by its name, as
   * long as the same workers serve the model.
   *
   * @param mayHedge whether a second worker may be asked beside the first
   * @throws StatusException UNAVAILABLE when no worker is ready
   */
  RouteAttempt route(RequestHead head, boolean mayHedge) throws StatusException {
    Fleet now = fleet;
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

  /**
   * Assigns what any worker of a model can answer alike.
   *
   * @param by of what is no inference
   * @throws StatusException UNAVAILABLE when no worker is ready
   */
  RouteAttempt description(String model, RouteContext by) throws StatusException {
    Fleet now = fleet;
    List<WorkerView> serving = context.ejection().without(now.serving(model));
    List<WorkerView> asked = serving.isEmpty() ? List.of(whoCanRefuse(now, model)) : serving;
    Reservation place = context.reserve(asked.getFirst().name(), 0);
    return new RouteAttempt(by, model, 0, asked, null, 0, false, Route.NEVER, place);
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

  private ReplicaRouter router(Fleet now, String model, List<WorkerView> serving) {
    List<String> placed =
        settings.mode() == Mode.LPT_PACKING ? placed(model, serving) : List.<String>of();
    List<String> workers = placed.isEmpty() ? names(now, model, serving) : placed;
    boolean inTurn = placed.isEmpty() && settings.mode() != Mode.LEAST_OUTSTANDING;
    FillMode fill = inTurn ? FillMode.RUN : settings.fillMode();
    OpeningPolicy opening = inTurn ? OpeningPolicy.FILL_RR : settings.opening();
    long quantum = inTurn ? 1 : ReplicaRouter.quantum(settings.fillFactor(), now.maxBatch(model));
    ReplicaRouter known = routers.get(model);
    if (known != null && known.with(fill, opening, quantum, workers, context.ledgers()) == known) {
      return known;
    }
    return routers.compute(
        model,
        (name, last) ->
            last == null
                ? new ReplicaRouter(fill, opening, quantum, workers, context.ledgers())
                : last.with(fill, opening, quantum, workers, context.ledgers()));
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
    return context.ledgers().apply(worker).nanos() + load;
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
