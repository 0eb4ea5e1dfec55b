package dev.roundhouse.engine;

import dev.roundhouse.engine.admission.Admission;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.dispatch.DispatchProxy;
import dev.roundhouse.engine.dispatch.LaneOptions;
import dev.roundhouse.engine.model.ModelRegistry;
import dev.roundhouse.engine.model.RegisteredModel;
import dev.roundhouse.engine.model.ServedModel;
import dev.roundhouse.engine.observe.Accounting;
import dev.roundhouse.engine.queue.HeldBytes;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.Outcome;
import java.util.OptionalDouble;
import java.util.concurrent.CompletableFuture;

/**
 * The way of a request, top to bottom. Each step names the package that does it:
 *
 * <ol>
 *   <li>{@code request} a transport makes an {@link InferenceRequest} and submits it;
 *   <li>{@code admission} checks it against the model's contract and the limits, on the caller's
 *       thread, and hands it over;
 *   <li>{@code queue} it waits in its model's queue, as data of the dispatch thread;
 *   <li>{@code schedule} picks the model that runs next and how many of its requests run together;
 *   <li>{@code residency} has the model's weights on the device;
 *   <li>{@code dispatch} lays the batch out in a staging slot, executes it on the {@code device},
 *       cuts the outputs apart;
 *   <li>{@code observe} counts how it ended, and the outcome goes to the transport.
 * </ol>
 *
 * Thread-safe.
 */
final class RequestPath {
  private final EngineOptions options;
  private final ModelRegistry registry;
  private final HeldBytes bytes;
  private final Accounting accounting;
  private final Admission admission;
  private final DispatchProxy dispatch;

  RequestPath(EngineOptions options, Device device, ModelRegistry registry) {
    this.options = options;
    this.registry = registry;
    bytes = new HeldBytes(options.maxQueuedBytes());
    accounting = new Accounting(bytes);
    dispatch =
        new DispatchProxy(
            device, options.discipline().get(), options.clock(), accounting, options.maxHandOver());
    admission =
        new Admission(
            registry,
            options.clock(),
            options.maxQueueDepth(),
            bytes,
            accounting,
            dispatch::submit);
  }

  /** Admits a request or refuses it; see {@link dev.roundhouse.engine.request.Completion}. */
  void submit(InferenceRequest request) {
    admission.submit(request);
  }

  /**
   * Takes a request back, whatever it is doing. One that waits ends at once; one that runs ends
   * with its batch, for its inputs may be in use, and its batch-mates are not affected.
   *
   * @return false when it is over already
   */
  boolean cancel(InferenceRequest request) {
    request.requestCancel();
    return switch (request.state()) {
      case NEW, RUNNING -> true;
      case QUEUED -> cancelQueued(request);
      case DONE -> false;
    };
  }

  private boolean cancelQueued(InferenceRequest request) {
    // While the request is open its model keeps its slot; once it has ended, nothing happens below.
    ServedModel model = registry.slots().get(request.slot());
    if (model == null) {
      return false;
    }
    boolean ended =
        accounting.end(
            request, InferenceRequest.State.QUEUED, model.counters(), Outcome.Cancelled.BY_CALLER);
    // If not, it has just begun to run, or somebody else has just ended it.
    return ended || request.state() == InferenceRequest.State.RUNNING;
  }

  /** Opens the way to a model: completes once each of its programs has run. */
  CompletableFuture<Void> activate(ServedModel model) {
    ModelOptions own = options.of(model.name());
    RegisteredModel registered = registry.get(model.name());
    OptionalDouble atRunTime = registered == null ? OptionalDouble.empty() : registered.weight();
    return dispatch.activate(
        model,
        new LaneOptions(
            atRunTime.orElse(own.weight().orElse(model.spec().serving().weight())),
            own.rowCap().orElse(Integer.MAX_VALUE),
            own.maxQueueDelay().orElse(options.maxQueueDelay()).toNanos()));
  }

  /** Closes the way to a model that admission does not find any more. */
  CompletableFuture<Void> retire(ServedModel model) {
    return dispatch.retire(model);
  }

  /** Gives a model another weight; false when too many commands are on their way. */
  boolean setWeight(ServedModel model, double weight) {
    return dispatch.setWeight(model, weight);
  }

  /** Bytes of inputs that accepted requests hold. */
  long heldBytes() {
    return bytes.held();
  }

  /** Refuses what comes from now on. */
  void closeAdmission() {
    admission.close();
  }

  /** What the thread that runs the dispatch loop is started on. */
  DispatchProxy dispatch() {
    return dispatch;
  }
}
