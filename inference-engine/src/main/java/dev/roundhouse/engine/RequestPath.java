package dev.roundhouse.engine;

import dev.roundhouse.engine.admission.Admission;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.dispatch.DispatchProxy;
import dev.roundhouse.engine.dispatch.LaneOptions;
import dev.roundhouse.engine.model.ModelRegistry;
import dev.roundhouse.engine.model.ServedModel;
import dev.roundhouse.engine.observe.Accounting;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.Outcome;
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
  private final Admission admission;
  private final DispatchProxy dispatch;

  RequestPath(EngineOptions options, Device device, ModelRegistry registry) {
    this.options = options;
    this.registry = registry;
    dispatch =
        new DispatchProxy(
            device, options.discipline().get(), options.clock(), options.maxHandOver());
    admission = new Admission(registry, options.clock(), options.maxQueueDepth(), dispatch::submit);
  }

  /** Admits a request or refuses it; see {@link dev.roundhouse.engine.request.Completion}. */
  void submit(InferenceRequest request) {
    admission.submit(request);
  }

  /** Takes back a request that has not begun to run; false when it has, or is over. */
  boolean cancel(InferenceRequest request) {
    return registry
        .find(request.modelName())
        .map(
            model ->
                Accounting.end(
                    request,
                    InferenceRequest.State.QUEUED,
                    model.counters(),
                    new Outcome.Cancelled("the caller cancelled the request")))
        .orElse(false);
  }

  /** Opens the way to a model: completes once each of its programs has run. */
  CompletableFuture<Void> activate(ServedModel model) {
    ModelOptions own = options.of(model.name());
    return dispatch.activate(
        model,
        new LaneOptions(
            own.weight().orElse(model.spec().serving().weight()),
            own.rowCap().orElse(Integer.MAX_VALUE)));
  }

  /** Gives a model another weight; false when too many commands are on their way. */
  boolean setWeight(ServedModel model, double weight) {
    return dispatch.setWeight(model.slot(), weight);
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
