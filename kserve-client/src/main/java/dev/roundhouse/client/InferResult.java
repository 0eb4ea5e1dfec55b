package dev.roundhouse.client;

import dev.roundhouse.client.tensor.Tensor;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A model's answer. Immutable; its tensors own their memory. */
public final class InferResult {
  private final String model;
  private final String version;
  private final String id;
  private final Map<String, Tensor> outputs;
  private final @Nullable ServerTimings timings;
  private final @Nullable Receipt receipt;
  private final boolean last;
  private final @Nullable CallStats stats;

  InferResult(
      String model,
      String version,
      String id,
      Map<String, Tensor> outputs,
      @Nullable ServerTimings timings,
      @Nullable Receipt receipt,
      boolean last,
      @Nullable CallStats stats) {
    this.model = model;
    this.version = version;
    this.id = id;
    this.outputs = outputs;
    this.timings = timings;
    this.receipt = receipt;
    this.last = last;
    this.stats = stats;
  }

  public String model() {
    return model;
  }

  /** The version that answered. */
  public String version() {
    return version;
  }

  /** The request's. */
  public String id() {
    return id;
  }

  /** By name, in the order received. */
  public Map<String, Tensor> outputs() {
    return outputs;
  }

  /**
   * An output by its name.
   *
   * @throws IllegalArgumentException when there is none of that name
   */
  public Tensor output(String name) {
    Tensor output = outputs.get(name);
    if (output == null) {
      throw new IllegalArgumentException(
          "'%s' answered no output '%s'; it answered %s".formatted(model, name, outputs.keySet()));
    }
    return output;
  }

  /** Timings from the server, when requested and sent. */
  public Optional<ServerTimings> timings() {
    return Optional.ofNullable(timings);
  }

  /** How the server came to the answer, when requested and sent. */
  public Optional<Receipt> receipt() {
    return Optional.ofNullable(receipt);
  }

  /**
   * False when more answers to the same request may follow in a stream. One without outputs may be
   * the last: see {@link InferRequest.Builder#tellEnd}.
   */
  public boolean last() {
    return last;
  }

  /** What the call took; empty for one of a stream. */
  public Optional<CallStats> stats() {
    return Optional.ofNullable(stats);
  }
}
