package dev.roundhouse.engine.admission;

import dev.roundhouse.engine.model.ModelRegistry;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.model.ModelVersions;
import dev.roundhouse.engine.model.PublishedVersion;
import dev.roundhouse.engine.model.RegisteredModel;
import dev.roundhouse.engine.model.ServedModel;
import dev.roundhouse.engine.observe.Accounting;
import dev.roundhouse.engine.observe.ModelCounters;
import dev.roundhouse.engine.queue.HeldBytes;
import dev.roundhouse.engine.request.Admitted;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.ShedReason;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.time.NanoClock;
import java.util.function.Predicate;

/**
 * Lets a request in or turns it away, on the caller's thread. A request that is let in is counted,
 * holds a place in its model's queue and has been handed over. Thread-safe.
 */
public final class Admission {
  private final ModelRegistry registry;
  private final NanoClock clock;
  private final int maxQueueDepth;
  private final HeldBytes bytes;
  private final Accounting accounting;
  private final Predicate<InferenceRequest> handOver;
  private volatile boolean closed;

  /**
   * @param maxQueueDepth requests that may wait per model
   * @param bytes what accepted requests hold together; given back as they end
   * @param handOver gives a request to the dispatch thread; false when that cannot take more
   */
  public Admission(
      ModelRegistry registry,
      NanoClock clock,
      int maxQueueDepth,
      HeldBytes bytes,
      Accounting accounting,
      Predicate<InferenceRequest> handOver) {
    this.registry = registry;
    this.clock = clock;
    this.maxQueueDepth = maxQueueDepth;
    this.bytes = bytes;
    this.accounting = accounting;
    this.handOver = handOver;
  }

  /** Admits the request, or delivers {@link Outcome.Refused} on this thread. */
  public void submit(InferenceRequest request) {
    try {
      admit(request);
    } catch (RefusedException e) {
      RegisteredModel model = registry.get(request.modelName());
      if (model != null) {
        model.countRefused(e.status());
      }
      if (request.end(InferenceRequest.State.NEW)) {
        request.deliver(new Outcome.Refused(e.status(), prefixed(request, e)));
      }
    }
  }

  /** Turns away every further request; what was accepted is not affected. */
  public void close() {
    closed = true;
  }

  private void admit(InferenceRequest request) throws RefusedException {
    if (closed) {
      throw exiting();
    }
    ServedModel model;
    Admitted admitted;
    long now;
    do {
      model = serving(request.modelName(), request.modelVersion());
      admitted = ContractCheck.check(model.slot(), model.contract(), request);
      now = clock.nanoTime();
      if (request.deadlineNanos() != InferenceRequest.NO_DEADLINE) {
        checkDeadline(request, model, admitted, now);
      }
      // A version that was replaced while we looked is not found again.
    } while (!takeRoom(request, model.counters(), admitted));
    request.admit(admitted, now);
    if (!handOver.test(request)) {
      accounting.end(
          request,
          InferenceRequest.State.QUEUED,
          model.counters(),
          new Outcome.Shed(
              ShedReason.NO_ROOM,
              Status.RESOURCE_EXHAUSTED,
              prefix(request) + "the server has no room for another waiting request; retry later"));
    } else if (request.isCancelRequested()) {
      // Taken back while it was being admitted, when there was nothing to cancel yet.
      accounting.end(
          request, InferenceRequest.State.QUEUED, model.counters(), Outcome.Cancelled.BY_CALLER);
    }
  }

  private void checkDeadline(
      InferenceRequest request, ServedModel model, Admitted admitted, long now)
      throws RefusedException {
    long left = request.deadlineNanos() - now;
    if (left <= 0) {
      throw new RefusedException(
          Status.DEADLINE_EXCEEDED,
          "deadline passed before the request for model '" + model.name() + "' was accepted");
    }
    long least =
        request.isSubCall()
            ? 0
            : model.runCosts().leastNanos(admitted.variant(), admitted.rows(), now);
    if (left < least) {
      throw new RefusedException(
          Status.DEADLINE_EXCEEDED,
          "deadline cannot be met: %d us are left and running %d rows of model '%s' takes about %d us; allow more time or send fewer rows"
              .formatted(left / 1000, admitted.rows(), model.name(), least / 1000));
    }
  }

  /**
   * Counts the request as accepted, with a place in the queue and its bytes: before it is handed
   * over, for the dispatch thread may end it at any moment after. From then on its version is not
   * freed until it has ended.
   *
   * @return false, taking nothing, when the version takes no requests any more
   */
  private boolean takeRoom(InferenceRequest request, ModelCounters counters, Admitted admitted)
      throws RefusedException {
    if (!bytes.take(admitted.inputBytes())) {
      throw new RefusedException(
          Status.RESOURCE_EXHAUSTED,
          "Exceeds maximum queue size: accepted requests hold %d bytes of inputs, this one for model '%s' has %d more and the limit is %d bytes; retry later or raise roundhouse.worker.scheduler.max-queued-bytes"
              .formatted(bytes.held(), request.modelName(), admitted.inputBytes(), bytes.limit()));
    }
    // A meta that has begun is let finish: there is one such call per running meta.
    boolean committed = request.isCommitted() || request.commit();
    if (!counters.enter(committed ? Integer.MAX_VALUE : maxQueueDepth)) {
      bytes.giveBack(admitted.inputBytes());
      if (counters.isClosed()) {
        return false;
      }
      throw new RefusedException(
          Status.RESOURCE_EXHAUSTED,
          "Exceeds maximum queue size: %d requests wait for model '%s' and the limit is %d; retry later or raise roundhouse.worker.scheduler.max-queue-depth"
              .formatted(counters.waiting(), request.modelName(), maxQueueDepth));
    }
    return true;
  }

  private ServedModel serving(String name, String version) throws RefusedException {
    RegisteredModel model = registry.get(name);
    if (model == null) {
      throw unknown(name);
    }
    PublishedVersion found = model.versions().find(version);
    if (found == null) {
      throw otherVersion(name, version, model.versions());
    }
    ServedModel serving = found.serving();
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
              Status.UNAVAILABLE,
              "Request for model '%s' version %s is not at ready state: it is loading; retry when ModelReady says so"
                  .formatted(name, status.version()));
      case FAILED ->
          new RefusedException(
              Status.NOT_FOUND,
              "Request for model: '%s' has no available versions: it failed to load: %s"
                  .formatted(name, status.reason()));
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

  private static RefusedException exiting() {
    return new RefusedException(Status.UNAVAILABLE, "Server exiting; send the request elsewhere");
  }

  private static String prefixed(InferenceRequest request, RefusedException refusal) {
    return switch (refusal.status()) {
      case NOT_FOUND, UNAVAILABLE -> refusal.getMessage();
      default -> prefix(request) + refusal.getMessage();
    };
  }

  private static String prefix(InferenceRequest request) {
    return "[request id: " + (request.id().isEmpty() ? "<id_unknown>" : request.id()) + "] ";
  }
}
