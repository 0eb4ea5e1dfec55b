package dev.roundhouse.hooks.testing;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.hooks.CallException;
import dev.roundhouse.hooks.Calls;
import dev.roundhouse.hooks.Tensor;
import dev.roundhouse.hooks.Tensors;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Calls for a test of one's own meta, without a server: {@code meta.run(request, new
 * SampleCalls().with("reader", inputs -> ...))}. A call is answered when it is made, so {@link
 * Pending#await} never waits. Not thread-safe.
 */
public final class SampleCalls implements Calls {
  private final Map<String, UnaryOperator<Tensors>> models = new LinkedHashMap<>();
  private final List<Made> made = new ArrayList<>();
  private boolean finished;

  /**
   * A call that was made.
   *
   * @param outputs those named; none for all
   */
  public record Made(String model, Tensors inputs, List<String> outputs) {}

  /**
   * Adds a model that may be called, as {@code meta.calls} of the manifest names it.
   *
   * @param answer makes all its outputs of its inputs, and throws {@link CallException} in place of
   *     a model that does not answer; anything else that it throws, such as a failed assertion,
   *     comes out of the call at once
   */
  public SampleCalls with(String model, UnaryOperator<Tensors> answer) {
    models.put(model, answer);
    return this;
  }

  /** What was called, in order; tensors are not copied. */
  public List<Made> made() {
    return List.copyOf(made);
  }

  /** Which models were called, in order. */
  public List<String> called() {
    return made.stream().map(Made::model).toList();
  }

  /** Whether {@link #finish} was called. */
  public boolean isFinished() {
    return finished;
  }

  @Override
  public Tensors call(String model, Tensors inputs, String... outputs) {
    return callAsync(model, inputs, outputs).await();
  }

  @Override
  public Pending callAsync(String model, Tensors inputs, String... outputs) {
    UnaryOperator<Tensors> answer = models.get(model);
    if (answer == null) {
      throw new IllegalArgumentException(
          "'%s' is called, and this test has %s".formatted(model, models.keySet()));
    }
    made.add(new Made(model, inputs, List.of(outputs)));
    try {
      return new Answered(wanted(model, answer.apply(inputs), outputs), null);
    } catch (CallException e) {
      return new Answered(Tensors.of(), e);
    }
  }

  /** As a server lends them: not to be written. */
  private static Tensors wanted(String model, Tensors answer, String... outputs) {
    List<Tensor> wanted = new ArrayList<>();
    for (String output : outputs.length == 0 ? answer.names() : List.of(outputs)) {
      if (!answer.has(output)) {
        throw new CallException(
            model,
            "INVALID_ARGUMENT",
            "model '%s' has no output '%s'; it has %s".formatted(model, output, answer.names()));
      }
      Tensor tensor = answer.get(output);
      wanted.add(Tensor.of(output, tensor.dtype(), tensor.shape(), tensor.segment().asReadOnly()));
    }
    return Tensors.of(wanted);
  }

  @Override
  public Tensor scratch(String name, DType dtype, long... shape) {
    Shape dims = Shape.of(shape);
    int bytes = Math.toIntExact(Tensor.byteSize(name, dtype, dims));
    return Tensor.of(name, dtype, dims, MemorySegment.ofArray(new byte[bytes]));
  }

  @Override
  public void finish() {
    finished = true;
  }

  /** The end of a call. */
  private record Answered(Tensors answer, @Nullable CallException failure) implements Pending {
    @Override
    public Tensors await() {
      if (failure != null) {
        throw failure;
      }
      return answer;
    }

    @Override
    public boolean isDone() {
      return true;
    }
  }
}
