package dev.roundhouse.engine.admission;

import dev.roundhouse.engine.model.ComposedModel;
import dev.roundhouse.engine.model.ComposedRun;
import dev.roundhouse.engine.model.ModelRegistry;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.model.ModelVersions;
import dev.roundhouse.engine.model.ProgramModel;
import dev.roundhouse.engine.model.PublishedVersion;
import dev.roundhouse.engine.model.RegisteredModel;
import dev.roundhouse.engine.model.Servable;
import dev.roundhouse.engine.queue.Accounting;
import dev.roundhouse.engine.queue.Admitted;
import dev.roundhouse.engine.queue.ByteBudget;
import dev.roundhouse.engine.queue.QueueRules;
import dev.roundhouse.engine.queue.QueueShares;
import dev.roundhouse.engine.queue.QueuedRequest;
import dev.roundhouse.engine.queue.QueuedRequest.State;
import dev.roundhouse.engine.queue.RefusedException;
import dev.roundhouse.engine.queue.TenantPlaces;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.ShedReason;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.sequence.SequenceRules;
import dev.roundhouse.engine.sequence.Sequences;
import dev.roundhouse.engine.sequence.Step;
import dev.roundhouse.engine.state.DeviceStates;
import dev.roundhouse.engine.time.NanoClock;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiFunction;
import java.util.function.ObjLongConsumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Admits or refuses a request, on the caller's thread. An admitted request is counted, holds a
 * place in its model's queue and has been handed over. Thread-safe.
 */
public final class Admission {
  private final ModelRegistry registry;
  private final NanoClock clock;
  private final Limits limits;
  private final ByteBudget bytes;
  private final QueueShares shares;
  private final TenantPlaces places;
  private final Accounting accounting;
  private final Predicate<QueuedRequest> handOver;
  private final BiFunction<QueuedRequest, ComposedModel, ComposedRun> runs;
  private final Sequences sequences;
  private volatile @Nullable String closedBecause;
  private volatile @Nullable String failedBecause;

  /**
   * Limits on a request, besides its model's contract and the byte budget.
   *
   * @param queueDepth requests that may wait per model
   * @param queueDepthName where an operator sets that
   * @param answerBytes most bytes of an answer, as a message holds no more
   * @param tenants that requests may be of; each has a queue of that depth at each model
   */
  public record Limits(int queueDepth, String queueDepthName, long answerBytes, int tenants) {}

  /**
   * @param accounting of accepted requests' memory and callers' shares
   * @param states where state of sequences is that stays on the device
   * @param handOver gives a request to the dispatch thread; false when it is full
   * @param runs makes the run that answers a request to a composed model
   * @param later runs a task after that many nanoseconds
   */
  public Admission(
      ModelRegistry registry,
      NanoClock clock,
      Limits limits,
      Accounting accounting,
      DeviceStates states,
      Predicate<QueuedRequest> handOver,
      BiFunction<QueuedRequest, ComposedModel, ComposedRun> runs,
      ObjLongConsumer<Runnable> later) {
    this.registry = registry;
    this.clock = clock;
    this.limits = limits;
    this.accounting = accounting;
    this.handOver = handOver;
    this.runs = runs;
    bytes = accounting.bytes();
    shares = accounting.shares();
    places = new TenantPlaces(limits.tenants());
    sequences = new Sequences(bytes, clock, states, this::handOver, later);
  }

  /**
   * Admits the request, or tells its sink on this thread why not.
   *
   * @throws IllegalStateException when it was already submitted; its sink is not notified
   */
  public void submit(QueuedRequest request) {
    submit(request, null);
  }

  /**
   * As {@link #submit(QueuedRequest)}, for a call of one version, which no name need lead to.
   *
   * @param target null for what the request's name leads to
   */
  public void submit(QueuedRequest request, @Nullable Servable target) {
    if (!request.request().markSubmitted()) {
      throw new IllegalStateException(
          "the request for model '%s' has been submitted before; make a new one for each call"
              .formatted(request.request().modelName()));
    }
    places.require(request.tenant());
    try {
      admit(request, target);
    } catch (RefusedException e) {
      RegisteredModel model = target == null ? registry.get(request.request().modelName()) : null;
      if (model != null) {
        model.countRefused(e.status());
      }
      request.leaveLane();
      accounting.refuse(request, new Outcome.Refused(e.status(), prefixed(request.request(), e)));
    }
  }

  /** Turns away every further request; what was accepted is not affected. */
  public void close() {
    closedBecause = "Server exiting; send the request elsewhere";
  }

  /**
   * Turns away every further request, calls of metas too.
   *
   * @param reason what their callers are told
   */
  public void fail(String reason) {
    failedBecause = reason;
  }

  /** The sequences that are under way. */
  public Sequences sequences() {
    return sequences;
  }

  private void admit(QueuedRequest queued, @Nullable Servable target) throws RefusedException {
    InferenceRequest request = queued.request();
    refuseWhenClosed(queued);
    boolean accepted;
    do {
      Servable model =
          target == null ? serving(request.modelName(), request.modelVersion()) : target;
      Admitted found = ContractCheck.check(model.contract(), request);
      accepted =
          switch (model) {
            case ProgramModel own -> accept(queued, own, found);
            case ComposedModel composed -> acceptRun(queued, composed, found);
          };
      if (!accepted && target != null) {
        throw new RefusedException(
            Status.UNAVAILABLE, "model '%s' has been unloaded".formatted(target.name()));
      }
      // A version replaced meanwhile is not found the next time.
    } while (!accepted);
  }

  private boolean accept(QueuedRequest queued, ProgramModel model, Admitted found)
      throws RefusedException {
    SequenceRules rules = model.contract().sequences();
    if (rules != null) {
      return acceptStep(queued, model, found, rules);
    }
    if (!takePlace(queued, model, found)) {
      return false;
    }
    handOver(queued);
    return true;
  }

  /** A composed model's run is not queued: it is handed to whoever runs the model's code. */
  private boolean acceptRun(QueuedRequest queued, ComposedModel model, Admitted found)
      throws RefusedException {
    String onePart = model.spec().decoupled() ? queued.request().sink().onManyParts() : null;
    if (onePart != null) {
      throw new RefusedException(Status.UNIMPLEMENTED, onePart);
    }
    ComposedRun run = runs.apply(queued, model);
    if (!takePlace(queued, model, found)) {
      return false;
    }
    queued.take();
    queued.giveLaneOn();
    accounting.ledger().leave(model.counters());
    queued.cancelThrough(request -> run.cancel());
    run.begin();
    return true;
  }

  private boolean acceptStep(
      QueuedRequest queued, ProgramModel model, Admitted found, SequenceRules rules)
      throws RefusedException {
    Step step = sequences.begin(rules, queued);
    boolean accepted = false;
    try {
      Admitted whole = step.complete(found);
      queued.answerThrough(step);
      accepted = takePlace(queued, model, whole);
    } finally {
      if (!accepted) {
        queued.answerThrough(queued.request().sink());
        sequences.abandon(step);
      }
    }
    if (accepted) {
      sequences.enter(step);
    }
    return accepted;
  }

  /** Reserves all that the request needs; false when its version no longer takes requests. */
  private boolean takePlace(QueuedRequest queued, Servable model, Admitted admitted)
      throws RefusedException {
    InferenceRequest request = queued.request();
    long now = clock.nanoTime();
    if (request.deadlineNanos() != InferenceRequest.NO_DEADLINE) {
      checkDeadline(queued, model, admitted, now);
    }
    if (!takeRoom(queued, model, admitted)) {
      return false;
    }
    request.answerForm().answeredBy(model.contract().outputs());
    QueueRules rules = model.queueRules();
    queued.admit(
        model instanceof ProgramModel own ? own.modelIndex() : QueuedRequest.NO_LANE,
        admitted,
        model.counters(),
        rules.level(request.options().priority()),
        rules.leaveByNanos(now, request.options().queueTimeoutNanos()),
        now);
    return true;
  }

  private void handOver(QueuedRequest queued) {
    if (!handOver.test(queued)) {
      accounting.end(
          queued,
          State.QUEUED,
          new Outcome.Shed(
              ShedReason.NO_ROOM,
              Status.RESOURCE_EXHAUSTED,
              prefix(queued.request())
                  + "the server has no room for another waiting request; retry later"));
    }
  }

  /** An accepted meta may finish; its calls are refused once the engine has failed. */
  private void refuseWhenClosed(QueuedRequest request) throws RefusedException {
    String reason = failedBecause;
    if (reason == null && !request.isSubCall()) {
      reason = closedBecause;
    }
    if (reason != null) {
      throw new RefusedException(Status.UNAVAILABLE, reason);
    }
  }

  private void checkDeadline(QueuedRequest request, Servable model, Admitted admitted, long now)
      throws RefusedException {
    long left = request.deadlineNanos() - now;
    if (left <= 0) {
      throw new RefusedException(
          Status.DEADLINE_EXCEEDED,
          "deadline passed before the request for model '" + model.name() + "' was accepted");
    }
    if (request.isSubCall()) {
      return;
    }
    long run = model.leastRunNanos(admitted.variant(), admitted.rows(), now);
    long load = model.leastWaitNanos(now);
    if (left <= run + load) {
      String what =
          "deadline cannot be met: %d us are left and running %d rows of model '%s' takes about %d us"
              .formatted(left / 1000, admitted.rows(), model.name(), run / 1000);
      throw new RefusedException(
          Status.DEADLINE_EXCEEDED,
          load == 0
              ? what + "; allow more time or send fewer rows"
              : "%s, bringing its weights to the device %d us; allow more time, or have the operator pin the model"
                  .formatted(what, load / 1000));
    }
  }

  /**
   * Counts the request as accepted, with a place in the queue and all its memory, before the
   * hand-over, as the dispatch thread may end it any time after. Its version is not freed until it
   * has ended.
   *
   * @return false, taking nothing, when the version takes no requests any more
   */
  private boolean takeRoom(QueuedRequest request, Servable model, Admitted admitted)
      throws RefusedException {
    long answer = admitted.answerBytes();
    if (answer > limits.answerBytes) {
      throw RefusedException.invalid(
          "the answer to %d rows of model '%s' would have %d bytes and a message holds %d; send fewer rows or request fewer outputs"
              .formatted(admitted.rows(), model.name(), answer, limits.answerBytes));
    }
    long needed = admitted.inputBytes() + answer;
    if (request.isSubCall()) {
      bytes.takeAnyway(needed); // its meta was let in and holds memory until it is done
    } else if (!bytes.take(needed)) {
      throw new RefusedException(Status.RESOURCE_EXHAUSTED, tooManyBytes(model, admitted, needed));
    }
    // A running meta may finish; it has one such call at a time.
    boolean committed = request.isCommitted() || request.commit();
    int limit = committed ? Integer.MAX_VALUE : model.queueRules().depth(limits.queueDepth);
    int share = shares.cell(request.request().caller(), model.shareKey());
    boolean ofTenant = places.areCounted() && !committed;
    AtomicInteger place = ofTenant ? places.take(model.shareKey(), request.tenant(), limit) : null;
    boolean entered =
        ofTenant
            ? place != null && model.counters().enter(Integer.MAX_VALUE)
            : model.counters().enter(limit) || enterReserve(model, share, limit);
    if (!entered) {
      bytes.giveBack(needed);
      if (place != null) {
        place.getAndDecrement();
      }
      if (model.counters().isClosed()) {
        return false;
      }
      throw new RefusedException(
          Status.RESOURCE_EXHAUSTED,
          "Exceeds maximum queue size: %d requests wait for model '%s' and the limit is %d%s; retry later or raise %s"
              .formatted(
                  model.counters().waiting(),
                  model.name(),
                  limit,
                  ofTenant ? " of each tenant" : "",
                  model.queueRules().depthSetting(limits.queueDepth, limits.queueDepthName)));
    }
    shares.enter(share);
    request.countIn(share);
    request.countAt(place);
    return true;
  }

  private boolean enterReserve(Servable model, int share, int limit) {
    int more = shares.depth(share, limit);
    return more > limit && model.counters().enter(more);
  }

  private String tooManyBytes(Servable model, Admitted admitted, long needed) {
    String what =
        "this one for model '%s' needs %d (%d of inputs, %d of its answer)"
            .formatted(model.name(), needed, admitted.inputBytes(), admitted.answerBytes());
    return needed > bytes.limit()
        ? "Exceeds maximum queue size: %s, more than the limit of %d bytes for all requests together; send fewer rows or raise %s"
            .formatted(what, bytes.limit(), bytes.limitName())
        : "Exceeds maximum queue size: accepted requests hold %d bytes, %s and the limit is %d; retry later or raise %s"
            .formatted(bytes.held(), what, bytes.limit(), bytes.limitName());
  }

  private Servable serving(String name, String version) throws RefusedException {
    RegisteredModel model = registry.get(name);
    if (model == null) {
      throw unknown(name);
    }
    PublishedVersion found = model.versions().find(version);
    if (found == null) {
      throw otherVersion(name, version, model.versions());
    }
    Servable serving = found.serving();
    if (serving == null) {
      throw notServing(found.status());
    }
    return serving;
  }

  private static RefusedException notServing(ModelStatus status) {
    String name = status.name();
    return switch (status.state()) {
      case LOADING, READY ->
          new RefusedException(
              Status.NOT_READY,
              "Request for model '%s' version %s is not at ready state: it is loading; retry when ModelReady says so"
                  .formatted(name, status.version()));
      case FAILED ->
          new RefusedException(
              Status.NOT_FOUND,
              "Request for model: '%s' has no available versions: %s"
                  .formatted(name, status.failure()));
      case UNLOADING, UNLOADED ->
          new RefusedException(
              Status.NOT_FOUND,
              "Request for model: '" + name + "' has no available versions: it was unloaded");
    };
  }

  private static RefusedException otherVersion(
      String name, String version, ModelVersions versions) {
    boolean decimal = version.length() <= 18 && version.chars().allMatch(Character::isDigit);
    PublishedVersion head = versions.find("");
    if (head == null) {
      return unknown(name);
    }
    return decimal
        ? new RefusedException(
            Status.NOT_FOUND,
            "Request for unknown model: '%s' version %s is not found; version %s is served"
                .formatted(name, version, head.status().version()))
        : RefusedException.invalid(
            "failed to get model version from specified version string '%s' of model '%s': it must be a decimal number"
                .formatted(version, name));
  }

  private static RefusedException unknown(String name) {
    return new RefusedException(
        Status.NOT_FOUND, "Request for unknown model: '" + name + "' is not found");
  }

  private static String prefixed(InferenceRequest request, RefusedException refusal) {
    return switch (refusal.status()) {
      case NOT_FOUND, UNAVAILABLE, UNIMPLEMENTED -> refusal.getMessage();
      default -> prefix(request) + refusal.getMessage();
    };
  }

  private static String prefix(InferenceRequest request) {
    return "[request id: " + (request.id().isEmpty() ? "<id_unknown>" : request.id()) + "] ";
  }
}
