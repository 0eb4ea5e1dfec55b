package dev.roundhouse.engine;

import dev.roundhouse.bundle.model.ServingDefaults;
import dev.roundhouse.engine.admission.Admission;
import dev.roundhouse.engine.deliver.AnswerPool;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.dispatch.DispatchContext;
import dev.roundhouse.engine.dispatch.DispatchProxy;
import dev.roundhouse.engine.dispatch.FailStop;
import dev.roundhouse.engine.lane.LaneOptions;
import dev.roundhouse.engine.model.ComposedRun;
import dev.roundhouse.engine.model.ModelRegistry;
import dev.roundhouse.engine.model.ProgramModel;
import dev.roundhouse.engine.model.RegisteredModel;
import dev.roundhouse.engine.model.Servable;
import dev.roundhouse.engine.queue.Accounting;
import dev.roundhouse.engine.queue.ByteBudget;
import dev.roundhouse.engine.queue.QueueShares;
import dev.roundhouse.engine.queue.QueuedRequest;
import dev.roundhouse.engine.queue.QueuedRequest.State;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.residency.Residency;
import dev.roundhouse.engine.schedule.TenantShare;
import dev.roundhouse.engine.sequence.SequenceMemory;
import dev.roundhouse.engine.sequence.SequenceRules;
import dev.roundhouse.engine.state.DeviceStates;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.ObjLongConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The path of a request, top to bottom. Each step names its package:
 *
 * <ol>
 *   <li>{@code request} a transport makes an {@link InferenceRequest} with a sink for its answer,
 *       and submits it;
 *   <li>{@code admission} on the caller's thread, checks it against the limits and the contract of
 *       the {@link Servable} that its name resolves to, reserves its memory and hands it over; a
 *       model that calls others is started from here, on a thread of the embedding application's;
 *   <li>{@code sequence} for a stateful model, it waits for the sequence's previous step and
 *       receives the state that step left;
 *   <li>{@code queue} it waits in its model's queue, owned by the dispatch thread;
 *   <li>{@code schedule} decides which model runs next and how many of its requests run together;
 *   <li>{@code lane} holds each model's queue, programs and scheduling state;
 *   <li>{@code residency} loads the model's weights to the device from {@code hostweights}, where
 *       they wait, evicting those that {@code evict} chooses;
 *   <li>{@code batch} puts the rows into a batch slot and copies their inputs, in the {@code
 *       layout}, to where the device reads them;
 *   <li>{@code dispatch} runs the {@code Pipeline} of slots: one batch armed, one on the {@code
 *       device}, one being answered;
 *   <li>{@code deliver} splits the outputs and answers, or lends a large answer in place when it is
 *       all of a run's outputs and the host can read them; an answer's bytes stay counted until its
 *       sink has closed it.
 * </ol>
 *
 * Thread-safe.
 */
final class RequestPath {
  private static final Logger log = LoggerFactory.getLogger(RequestPath.class);

  /** Idle answer memory that is kept, as a fraction of the budget. */
  private static final int POOL_PART = 4;

  private final EngineOptions options;
  private final ModelRegistry registry;
  private final DeviceStates states;
  private final ByteBudget bytes;
  private final AnswerPool answers;
  private final Accounting accounting;
  private final Admission admission;
  private final FailStop failStop;
  private final DispatchProxy dispatch;

  RequestPath(
      EngineOptions options,
      Device device,
      Residency residency,
      ModelRegistry registry,
      EngineThreads threads) {
    this.options = options;
    this.registry = registry;
    states = residency.states();
    bytes = new ByteBudget(options.maxQueuedBytes(), options.limitNames().maxQueuedBytes());
    answers = new AnswerPool(options.maxQueuedBytes() / POOL_PART);
    accounting = new Accounting(bytes, options.clock(), new QueueShares());
    failStop = new FailStop();
    dispatch =
        new DispatchProxy(
            new DispatchContext(
                device,
                options.clock(),
                options.discipline(),
                residency,
                accounting,
                bytes,
                answers,
                failStop,
                options.runMark(),
                threads.outputs(failStop),
                threads.weights(failStop),
                options.maxHandOver()));
    admission =
        new Admission(
            registry,
            options.clock(),
            new Admission.Limits(
                options.maxQueueDepth(),
                options.limitNames().maxQueueDepth(),
                options.maxAnswerBytes(),
                options.discipline().get() instanceof TenantShare share ? share.tenants() : 1),
            accounting,
            states,
            dispatch::submit,
            (request, model) ->
                new ComposedRun(
                    request,
                    model,
                    accounting,
                    this::submit,
                    threads.userCode(),
                    dispatch::bringAhead,
                    options.maxAnswerBytes()),
            later(threads.unloader()));
  }

  private static ObjLongConsumer<Runnable> later(Executor on) {
    return (task, nanos) ->
        CompletableFuture.delayedExecutor(nanos, TimeUnit.NANOSECONDS, on).execute(task);
  }

  /** Admits a request or refuses it. */
  Submission submit(InferenceRequest request) {
    return submit(request, null);
  }

  /** As {@link #submit(InferenceRequest)}, for one version; null for what the name leads to. */
  private Submission submit(InferenceRequest request, @Nullable Servable target) {
    QueuedRequest queued = new QueuedRequest(request, this::cancel);
    admission.submit(queued, target);
    return queued;
  }

  private boolean cancel(QueuedRequest request) {
    request.requestCancel();
    while (true) {
      switch (request.state()) {
        case QUEUED -> {
          if (accounting.end(request, State.QUEUED, Outcome.Cancelled.BY_CALLER)) {
            return true;
          }
          // It was just taken, put back or ended: check which.
        }
        case TAKEN -> {
          dispatch.cancelled();
          return true;
        }
        case NEW, DONE -> {
          return false; // who has the request has been told of its end
        }
      }
    }
  }

  /** Starts serving a model: completes once each of its programs has run. */
  CompletableFuture<Void> activate(ProgramModel model) {
    ServingRules rules = rules(model);
    sayIfRowsNeverShare(model);
    return dispatch.activate(
        model,
        new LaneOptions(
            rules.weight(),
            rowCap(model),
            rules.maxQueueDelay().toNanos(),
            rules.residency().filter(ServingDefaults.Residency.PINNED_DEVICE::equals).isPresent(),
            rules.queue().delays()));
  }

  private void sayIfRowsNeverShare(ProgramModel model) {
    OptionalInt asked = options.of(model.name()).rowCap();
    SequenceRules sequences = model.contract().sequences();
    if (asked.orElse(1) > 1 && sequences != null && sequences.staysOnDevice()) {
      log.warn(
          "model '{}' may have {} rows in a run and never has more than 1: the state of its sequences, {} bytes each, stays on the device and belongs to one row",
          model.name(),
          asked.getAsInt(),
          sequences.stateBytes());
    }
  }

  /** How a model is served, from its manifest and the operator's settings. */
  ServingRules rules(Servable model) {
    ModelOptions own = options.of(model.name());
    RegisteredModel registered = registry.get(model.name());
    OptionalDouble atRunTime = registered == null ? OptionalDouble.empty() : registered.weight();
    var serving = model.spec().serving();
    return new ServingRules(
        model.contract().batchSizes(),
        Math.min(rowCap(model), model.contract().largestBatch()),
        own.maxQueueDelay().or(serving::maxQueueDelay).orElse(options.maxQueueDelay()),
        model.queueRules(),
        model.queueRules().depth(options.maxQueueDepth()),
        atRunTime.orElse(own.weight().orElse(serving.weight())),
        registry.callGraph().isPinnedForCaller(model.name())
            ? Optional.of(ServingDefaults.Residency.PINNED_DEVICE)
            : own.residency(registered, serving),
        DispatchProxy.WARM_UP_RUNS);
  }

  /** State that stays on the device belongs to one row: it is neither joined there nor cut. */
  private int rowCap(Servable model) {
    SequenceRules sequences = model.contract().sequences();
    return sequences != null && sequences.staysOnDevice()
        ? 1
        : options.of(model.name()).rowCap().orElse(Integer.MAX_VALUE);
  }

  /** Keeps a model's weights on the device, or lets them be evicted. */
  CompletableFuture<Void> pin(ProgramModel model, boolean pinned) {
    return dispatch.pin(model, pinned);
  }

  /** Stops serving a model that admission no longer finds. */
  CompletableFuture<Void> retire(Servable model) {
    SequenceRules sequences = model.contract().sequences();
    if (sequences != null) {
      admission.sequences().forget(sequences);
    }
    return dispatch.retire(model);
  }

  /** Changes a model's weight; false when too many commands are pending. */
  boolean setWeight(ProgramModel model, double weight) {
    return dispatch.setWeight(model, weight);
  }

  /** Open sequences. */
  int sequences() {
    return admission.sequences().count();
  }

  /** Memory that they hold. */
  SequenceMemory sequenceMemory() {
    return admission.sequences().memory();
  }

  /** Bytes held by accepted requests and unwritten answers. */
  long heldBytes() {
    return bytes.held();
  }

  /** The byte budget of accepted requests and of those being received. */
  ByteBudget bytes() {
    return bytes;
  }

  /** Refuses new requests, except calls of accepted metas. */
  void closeAdmission() {
    admission.close();
  }

  /** Answers in device memory that have not been closed. */
  int lentAnswers() {
    return answers.runsLent();
  }

  /** How the engine fails, if it does; see {@link FailStop}. */
  FailStop failStop() {
    return failStop;
  }

  /** Refuses every new request, and frees nothing on the device any more. */
  void failAdmission(Throwable cause) {
    states.abandon();
    admission.fail(FailStop.text(cause));
  }

  /** The dispatch loop's proxy, for the thread that runs it. */
  DispatchProxy dispatch() {
    return dispatch;
  }

  /** Frees idle answer memory. */
  void close() {
    answers.close();
  }
}
