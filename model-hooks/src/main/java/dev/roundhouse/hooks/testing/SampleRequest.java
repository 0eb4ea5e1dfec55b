package dev.roundhouse.hooks.testing;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.hooks.HookRequest;
import dev.roundhouse.hooks.ModelContext;
import dev.roundhouse.hooks.Tensor;
import dev.roundhouse.hooks.Tensors;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A request for a test of one's own hooks, without a server: {@code hooks.preprocess(new
 * SampleRequest(context).with(r -> r.strings("text", List.of("hello"))))}. Not thread-safe.
 */
public final class SampleRequest implements HookRequest {
  private final ModelContext model;
  private final List<Tensor> inputs = new ArrayList<>();
  private final Map<String, Object> parameters = new HashMap<>();
  private @Nullable Object attached;
  private final List<Tensors> parts = new ArrayList<>();
  private boolean cancelled;

  public SampleRequest(ModelContext model) {
    this.model = model;
  }

  /** Adds an input. */
  public SampleRequest with(Function<HookRequest, Tensor> input) {
    inputs.add(input.apply(this));
    return this;
  }

  /** Adds an input of f32. */
  public SampleRequest with(String name, float[] values, long... shape) {
    inputs.add(f32(name, values, shape));
    return this;
  }

  /** Adds a parameter: a String, Boolean, Long or Double. */
  public SampleRequest parameter(String name, Object value) {
    parameters.put(name, value);
    return this;
  }

  /** Has the caller gone. */
  public void cancel() {
    cancelled = true;
  }

  /** A tensor of f32, as a program may have returned it. */
  public static Tensor f32(String name, float[] values, long... shape) {
    ByteBuffer bytes =
        ByteBuffer.allocate(values.length * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    FloatBuffer unused = bytes.asFloatBuffer().put(values);
    return Tensor.of(
        name, DType.F32, Shape.of(shape), MemorySegment.ofArray(bytes.array()).asReadOnly());
  }

  @Override
  public String id() {
    return "sample";
  }

  @Override
  public ModelContext model() {
    return model;
  }

  @Override
  public Tensors inputs() {
    return Tensors.of(inputs);
  }

  @Override
  public Map<String, Object> parameters() {
    return Map.copyOf(parameters);
  }

  @Override
  public boolean wants(String output) {
    return true;
  }

  @Override
  public Optional<Duration> remaining() {
    return Optional.empty();
  }

  @Override
  public boolean isCancelled() {
    return cancelled;
  }

  /** Keeps the part for {@link #parts}; nothing ever waits. */
  @Override
  public void answer(Tensors part) {
    if (cancelled) {
      throw new CancellationException("the request is over; nobody reads another part");
    }
    parts.add(part);
  }

  /** What {@link #answer} was given, in order, not copied. */
  public List<Tensors> parts() {
    return List.copyOf(parts);
  }

  @Override
  public void attach(Object value) {
    attached = value;
  }

  @Override
  public <T> T attachment(Class<T> type) {
    if (!type.isInstance(attached)) {
      throw new IllegalStateException("nothing of %s is attached".formatted(type));
    }
    return type.cast(attached);
  }

  @Override
  public Tensor tensor(String name, DType dtype, long... shape) {
    Shape dims = Shape.of(shape);
    int bytes = Math.toIntExact(Tensor.byteSize(name, dtype, dims));
    return Tensor.of(name, dtype, dims, MemorySegment.ofArray(new byte[bytes]));
  }

  @Override
  public Tensor bytes(String name, List<byte[]> values, long... shape) {
    Shape dims = shape.length == 0 ? Shape.of(values.size()) : Shape.of(shape);
    return Tensor.ofBytes(
        name, values, dims, size -> MemorySegment.ofArray(new byte[Math.toIntExact(size)]));
  }
}
