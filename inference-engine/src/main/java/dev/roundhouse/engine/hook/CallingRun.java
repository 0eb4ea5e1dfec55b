package dev.roundhouse.engine.hook;

import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.model.CalledModels;
import dev.roundhouse.engine.model.ComposedRun;
import dev.roundhouse.engine.model.Servable;
import dev.roundhouse.engine.queue.RefusedException;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.state.HandedTensor;
import dev.roundhouse.hooks.CallException;
import dev.roundhouse.hooks.Calls;
import dev.roundhouse.hooks.Tensor;
import dev.roundhouse.hooks.Tensors;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * One request to a meta. Its code runs as one piece, on one thread, which waits for its calls. All
 * its calls of a name go to the version that served when it began.
 */
final class CallingRun extends CodedRun implements Calls {
  private final CallingModel model;
  private final ComposedRun run;
  private final Thread thread = Thread.currentThread();
  private CalledModels.Held held = CalledModels.Held.NONE;
  private final Set<String> names = new HashSet<>();

  // Guarded by this.
  private boolean inGate;
  private boolean over;

  CallingRun(CallingModel model, ComposedRun run) {
    super(model, run);
    this.model = model;
    this.run = run;
  }

  void begin() {
    if (isRefused()) {
      return;
    }
    try {
      held = model.called().hold(model.spec());
    } catch (RefusedException e) {
      fail(e.status(), e.getMessage());
      return;
    }
    List<OutputTensor> made;
    try {
      made = hook("run", () -> model.meta().run(this, this), this::outputs);
    } finally {
      leave();
    }
    if (made != null) {
      model.lastCalled(names);
      complete(made);
    }
  }

  @Override
  void onAbandoned() {
    leave();
  }

  /** Lets go of the gate and of the versions that it calls; once, whoever comes first. */
  private void leave() {
    synchronized (this) {
      if (over) {
        return;
      }
      over = true;
    }
    finish();
    memory().releaseScratch();
    held.close();
  }

  @Override
  public void finish() {
    synchronized (this) {
      if (!inGate) {
        return;
      }
      inGate = false;
    }
    run.releaseWeights();
    model.gate().release();
  }

  @Override
  public Tensors call(String name, Tensors inputs, String... outputs) {
    return callAsync(name, inputs, outputs).await();
  }

  @Override
  public Pending callAsync(String name, Tensors inputs, String... outputs) {
    return call(name, inputs, false, outputs);
  }

  @Override
  public Pending forwardAsync(String name, Tensors inputs, String... outputs) {
    return call(name, inputs, true, outputs);
  }

  private Pending call(String name, Tensors inputs, boolean forwards, String... outputs) {
    refuseOtherThreads();
    Servable target = held.versions().get(name);
    if (target == null) {
      throw new IllegalArgumentException(
          "model '%s' calls '%s', and meta.calls of its manifest names %s"
              .formatted(modelName(), name, model.spec().calls()));
    }
    List<InputTensor> given = inputs(inputs);
    enterGate();
    run.holdWeights(target);
    names.add(name);
    CompletableFuture<Answer> answer = new CompletableFuture<>();
    List<String> wanted = Arrays.asList(outputs);
    run.callFor(
        target,
        given,
        wanted,
        forwards ? handedOn(target, wanted) : List.of(),
        answer::complete,
        (status, message) ->
            answer.completeExceptionally(
                new CallException(
                    name,
                    status.name(),
                    "model '%s', which model '%s' calls: %s"
                        .formatted(name, modelName(), message))));
    return new PendingAnswer(name, target, answer);
  }

  private static List<String> handedOn(Servable target, List<String> wanted) {
    return wanted.isEmpty()
        ? target.contract().outputs().stream().map(TensorSpec::name).toList()
        : wanted;
  }

  /** In the order of the model's outputs. */
  private Tensors tensors(Servable of, Answer answer) {
    List<Tensor> all = lent(answer.outputs());
    if (answer.handed().isEmpty()) {
      return Tensors.of(all);
    }
    for (InputTensor each : answer.handed()) {
      if (each.data() instanceof HandedTensor handed) {
        all.add(
            Tensor.deferred(
                each.name(),
                each.dtype(),
                each.shape(),
                new HandedRead(each.name(), handed, memory())));
      }
    }
    List<String> order = handedOn(of, List.of());
    all.sort(Comparator.comparingInt(each -> order.indexOf(each.name())));
    return Tensors.of(all);
  }

  @Override
  public Tensor scratch(String name, DType dtype, long... shape) {
    refuseOtherThreads();
    Shape dims = Shape.of(shape);
    long size = Tensor.byteSize(name, dtype, dims);
    MemorySegment room;
    watched().beginWait();
    try {
      room = memory().scratch(name, size, model.scratchLine(), run.request().deadlineNanos());
    } catch (InterruptedException e) {
      throw interrupted(modelName());
    } finally {
      watched().endWait();
    }
    if (room == null) {
      throw new CallException(
          modelName(),
          Status.DEADLINE_EXCEEDED.name(),
          "the deadline passed while model '%s' waited for %d bytes of scratch '%s'"
              .formatted(modelName(), size, name));
    }
    return Tensor.of(name, dtype, dims, room);
  }

  private void refuseOtherThreads() {
    if (Thread.currentThread() != thread) {
      throw new IllegalStateException(
          "calls of model '%s' are made and awaited by the thread that runs it, and this is another; callAsync makes several at once"
              .formatted(modelName()));
    }
  }

  private void enterGate() {
    synchronized (this) {
      if (inGate) {
        return;
      }
    }
    boolean entered;
    watched().beginWait();
    model.beginWaitAtGate();
    try {
      entered = waitAtGate(run.request().deadlineNanos());
    } catch (InterruptedException e) {
      throw interrupted(modelName());
    } finally {
      model.endWaitAtGate();
      watched().endWait();
    }
    if (!entered) {
      throw new CallException(
          modelName(),
          Status.DEADLINE_EXCEEDED.name(),
          "the deadline passed while model '%s' waited to make its first call; %s.meta-concurrency runs of metas make calls at once"
              .formatted(modelName(), model.settings()));
    }
    boolean late;
    synchronized (this) {
      late = over;
      inGate = !late;
    }
    if (late) { // it was given up meanwhile
      model.gate().release();
      throw interrupted(modelName());
    }
    for (String name : model.lastCalled()) {
      Servable target = held.versions().get(name);
      if (target != null) {
        run.holdWeights(target);
      }
    }
  }

  private boolean waitAtGate(long deadlineNanos) throws InterruptedException {
    if (deadlineNanos == InferenceRequest.NO_DEADLINE) {
      model.gate().acquire();
      return true;
    }
    return model.gate().tryAcquire(deadlineNanos - model.nanoTime(), TimeUnit.NANOSECONDS);
  }

  private static CallException interrupted(String name) {
    Thread.currentThread().interrupt();
    return new CallException(
        name, Status.CANCELLED.name(), "the request is over, and was told so by an interrupt");
  }

  /** A call that has been made. */
  private final class PendingAnswer implements Pending {
    private final String name;
    private final Servable target;
    private final CompletableFuture<Answer> answer;

    PendingAnswer(String name, Servable target, CompletableFuture<Answer> answer) {
      this.name = name;
      this.target = target;
      this.answer = answer;
    }

    @Override
    public Tensors await() {
      refuseOtherThreads();
      watched().beginWait();
      try {
        return tensors(target, answer.get());
      } catch (InterruptedException e) {
        throw interrupted(name);
      } catch (ExecutionException e) {
        if (e.getCause() instanceof CallException unanswered) {
          throw unanswered;
        }
        throw new IllegalStateException(e.getCause());
      } finally {
        watched().endWait();
      }
    }

    @Override
    public boolean isDone() {
      return answer.isDone();
    }
  }
}
