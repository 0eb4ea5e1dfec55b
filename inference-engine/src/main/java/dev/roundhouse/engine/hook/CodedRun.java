package dev.roundhouse.engine.hook;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.model.ComposedRun;
import dev.roundhouse.engine.queue.RefusedException;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.request.TensorData;
import dev.roundhouse.hooks.CallException;
import dev.roundhouse.hooks.HookException;
import dev.roundhouse.hooks.HookRequest;
import dev.roundhouse.hooks.ModelContext;
import dev.roundhouse.hooks.Tensor;
import dev.roundhouse.hooks.Tensors;
import dev.roundhouse.hooks.guard.ExitRefusedException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One request that a bundle's code answers. Its pieces run on threads for models' code, one at a
 * time, each watched.
 */
abstract class CodedRun implements HookRequest {
  private final CodedModel model;
  private final ComposedRun run;
  private final HookMemory memory;
  private @Nullable Tensors inputs;
  private @Nullable Object attached;
  private HookWatch.@Nullable Watched watched;
  private HookHeap.@Nullable Call allocated;

  CodedRun(CodedModel model, ComposedRun run) {
    this.model = model;
    this.run = run;
    memory = model.memory();
    run.keep(memory::close);
  }

  /** Ends the request when the model's hooks must not run any more, or have no thread. */
  boolean isRefused() {
    HookThreads.Refusal refusal = model.refusal();
    if (refusal != null) {
      fail(refusal.status(), refusal.why());
    }
    return refusal != null;
  }

  HookMemory memory() {
    return memory;
  }

  List<InputTensor> inputs(Tensors tensors) {
    List<InputTensor> made = new ArrayList<>(tensors.size());
    for (Tensor tensor : tensors) {
      made.add(
          new InputTensor(
              tensor.name(),
              tensor.dtype(),
              tensor.shape(),
              tensor.source() instanceof HandedRead handed
                  ? handed.tensor()
                  : TensorData.of(memory.forCall(tensor.name(), tensor.segment()))));
    }
    return made;
  }

  List<OutputTensor> outputs(Tensors tensors) {
    List<OutputTensor> made = new ArrayList<>(tensors.size());
    for (Tensor tensor : tensors) {
      if (wants(tensor.name()) || model.contract().output(tensor.name()) == null) {
        made.add(
            new OutputTensor(
                tensor.name(),
                tensor.dtype(),
                tensor.shape(),
                memory.forAnswer(tensor.name(), tensor.segment())));
      }
    }
    if (made.isEmpty() && tensors.size() > 0 && model.contract().decoupled()) {
      throw new IllegalArgumentException(
          "made %s, and none of them was requested".formatted(tensors.names()));
    }
    return made;
  }

  List<Tensor> lent(List<OutputTensor> outputs) {
    List<Tensor> lent = new ArrayList<>(outputs.size());
    for (OutputTensor output : outputs) {
      lent.add(
          Tensor.of(
              output.name(), output.dtype(), output.shape(), memory.lendAnswer(output.data())));
    }
    return lent;
  }

  void complete(List<OutputTensor> made) {
    if (made.isEmpty() && model.contract().decoupled()) {
      model.conduct().onAnswered();
      run.completeParts();
      return;
    }
    String wrong = run.complete(made);
    if (wrong == null) {
      model.conduct().onAnswered();
    } else {
      model.conduct().onFailure(wrong);
    }
  }

  // --- a hook

  /**
   * Runs a hook.
   *
   * @param taken what it makes, as the engine has it
   * @return null when the request has ended, or ends by this
   */
  <T> @Nullable T hook(String name, Callable<@Nullable Tensors> code, Function<Tensors, T> taken) {
    Thread thread = Thread.currentThread();
    ClassLoader before = thread.getContextClassLoader();
    HookWatch.Watched watched = model.watch(this, name, model.limitNanos(), untilDeadline());
    this.watched = watched;
    T made = null;
    Throwable thrown = null;
    String text = "";
    boolean awaited;
    try (HookHeap.Call counted = model.allocates(name)) {
      allocated = counted;
      thread.setContextClassLoader(model.code().getClass().getClassLoader());
      Tensors tensors = code.call();
      made = tensors == null ? null : taken.apply(tensors);
    } catch (Throwable e) {
      thrown = e;
      text = HookFailure.text(e); // may run the bundle's code
    } finally {
      thread.setContextClassLoader(before);
      awaited = watched.end();
    }
    if (!awaited) {
      return null;
    }
    if (thrown != null) {
      failBy(name, thrown, text);
    } else if (made == null) {
      failed("%s of model '%s' returned null".formatted(name, modelName()), null);
    }
    return made;
  }

  void failBy(String hook, Throwable thrown, String text) {
    if (thrown instanceof HookException refusal) {
      model.conduct().onAnswered();
      fail(HookFailure.status(refusal.code()), text);
      return;
    }
    if (thrown instanceof CallException call) {
      fail(Status.valueOf(call.status()), text);
      return;
    }
    boolean ended = run.isEnded();
    String message = "%s of model '%s' failed: %s".formatted(hook, modelName(), text);
    if (thrown instanceof ExitRefusedException || thrown instanceof OutOfMemoryError) {
      model.conduct().onOffence(message);
    }
    if (!ended) { // else it may have been interrupted for that
      failed(message, thrown);
    }
  }

  void failed(String message, @Nullable Throwable thrown) {
    model.logFailure(message, thrown);
    model.conduct().onFailure(message);
    fail(Status.INTERNAL, message);
  }

  /** What is left until the deadline; {@link Long#MAX_VALUE} without one. */
  private long untilDeadline() {
    long deadline = run.request().deadlineNanos();
    return deadline == InferenceRequest.NO_DEADLINE
        ? Long.MAX_VALUE
        : Math.max(0, deadline - model.nanoTime());
  }

  /** What watches the hook that runs now. */
  HookWatch.Watched watched() {
    return Objects.requireNonNull(watched);
  }

  // --- for the watch

  String modelName() {
    return model.name();
  }

  /** Where an operator sets what hooks may take. */
  String settings() {
    return model.settings();
  }

  void fail(Status status, String message) {
    run.fail(status, message);
  }

  boolean revoke() {
    return memory.revoke();
  }

  void abandon(Thread thread, String what) {
    run.abandon(Status.DEADLINE_EXCEEDED, what);
    model.onStuck(thread);
    model.conduct().onOffence(what);
    onAbandoned();
  }

  /** Nothing waits for its code any more, which still runs. */
  void onAbandoned() {}

  // --- for the hooks

  @Override
  public String id() {
    return run.request().id();
  }

  @Override
  public ModelContext model() {
    return model.context();
  }

  @Override
  public Tensors inputs() {
    Tensors known = inputs;
    if (known == null) {
      List<Tensor> lent = new ArrayList<>();
      for (InputTensor input : run.inputs()) {
        lent.add(
            Tensor.of(
                input.name(),
                input.dtype(),
                input.shape(),
                memory.lendInput(input.name(), input.data())));
      }
      known = Tensors.of(lent);
      inputs = known;
    }
    return known;
  }

  @Override
  public Map<String, Object> parameters() {
    return run.request().options().parameters();
  }

  @Override
  public boolean wants(String output) {
    List<String> requested = run.request().requestedOutputs();
    return requested.isEmpty()
        ? model.contract().output(output) != null
        : requested.contains(output);
  }

  @Override
  public Optional<Duration> remaining() {
    long deadline = run.request().deadlineNanos();
    return deadline == InferenceRequest.NO_DEADLINE
        ? Optional.empty()
        : Optional.of(Duration.ofNanos(Math.max(0, deadline - model.nanoTime())));
  }

  @Override
  public boolean isCancelled() {
    return run.isEnded();
  }

  @Override
  public void answer(Tensors part) throws InterruptedException {
    HookWatch.Watched hook = watched;
    if (!model.contract().decoupled()) {
      throw new IllegalStateException(
          "model '%s' is not decoupled: a request is answered once, with what the hook returns; say decoupled: true in its manifest"
              .formatted(modelName()));
    }
    if (hook == null || !hook.isOfThisThread()) {
      throw new IllegalStateException(
          "a part of the answer of model '%s' is made by another thread than the one that runs the hook"
              .formatted(modelName()));
    }
    if (part.size() == 0) {
      throw new IllegalArgumentException(
          "a part of the answer of model '%s' has no tensors; return none to end the answer"
              .formatted(modelName()));
    }
    if (run.isEnded()) {
      throw new CancellationException("the request is over; nobody reads another part");
    }
    HookMemory.Part copied = memory.forPart(part);
    Objects.requireNonNull(allocated).renew();
    hook.renew(true);
    try {
      run.part(wanted(copied.outputs()), copied::close);
    } catch (RefusedException e) {
      if (e.status() == Status.INVALID_ARGUMENT) {
        throw HookException.invalid(e.getMessage());
      }
      throw new IllegalArgumentException(e.getMessage());
    } finally {
      hook.renew(false);
    }
  }

  private List<OutputTensor> wanted(List<OutputTensor> outputs) {
    return outputs.stream()
        .filter(each -> wants(each.name()) || model.contract().output(each.name()) == null)
        .toList();
  }

  @Override
  public void attach(Object value) {
    attached = value;
  }

  @Override
  public <T> T attachment(Class<T> type) {
    if (!type.isInstance(attached)) {
      throw new IllegalStateException(
          "no %s is attached to the request".formatted(type.getSimpleName()));
    }
    return type.cast(attached);
  }

  @Override
  public Tensor tensor(String name, DType dtype, long... shape) {
    Shape dims = Shape.of(shape);
    return Tensor.of(name, dtype, dims, memory.make(name, Tensor.byteSize(name, dtype, dims)));
  }

  @Override
  public Tensor bytes(String name, List<byte[]> values, long... shape) {
    Shape dims = shape.length == 0 ? Shape.of(values.size()) : Shape.of(shape);
    return Tensor.ofBytes(name, values, dims, size -> memory.make(name, size));
  }
}
