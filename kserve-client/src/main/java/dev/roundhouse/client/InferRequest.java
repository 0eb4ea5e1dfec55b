package dev.roundhouse.client;

import dev.roundhouse.client.tensor.Tensor;
import dev.roundhouse.kserve.proto.InferParameter;
import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A request to a model. Immutable except for the borrowed memory of its tensors; may be sent any
 * number of times, by any thread.
 */
public final class InferRequest {
  private final String model;
  private final String version;
  private final String id;
  private final Map<String, Tensor> inputs;
  private final Map<String, Integer> outputs;
  private final Map<String, InferParameter> parameters;
  private final @Nullable Duration deadline;
  private final @Nullable String sequence;

  private InferRequest(Builder builder) {
    model = builder.model;
    version = builder.version;
    id = builder.id;
    inputs = Collections.unmodifiableMap(new LinkedHashMap<>(builder.inputs));
    outputs = Collections.unmodifiableMap(new LinkedHashMap<>(builder.outputs));
    parameters = Collections.unmodifiableMap(new LinkedHashMap<>(builder.parameters));
    deadline = builder.deadline;
    sequence = builder.sequence;
  }

  public static Builder to(String model) {
    return new Builder(model);
  }

  public String model() {
    return model;
  }

  /** Empty for the server's default. */
  public String version() {
    return version;
  }

  /** Echoed by the server; may be empty. */
  public String id() {
    return id;
  }

  /** By name, in the order given. */
  public Map<String, Tensor> inputs() {
    return inputs;
  }

  /**
   * The requested outputs, each with its number of classes, 0 for the output itself; empty for all.
   */
  Map<String, Integer> outputs() {
    return outputs;
  }

  Map<String, InferParameter> parameters() {
    return parameters;
  }

  /** Limit on the call with all its attempts; null for the client's default. */
  @Nullable Duration deadline() {
    return deadline;
  }

  /** Its sequence; null for none. */
  @Nullable String sequence() {
    return sequence;
  }

  /** Of all inputs. */
  public long inputBytes() {
    long bytes = 0;
    for (Tensor input : inputs.values()) {
      bytes += input.byteSize();
    }
    return bytes;
  }

  /** For one thread. */
  public static final class Builder {
    /** Names reserved by the protocol; each has a method here. */
    private static final Set<String> OWN =
        Set.of(
            "sequence_id",
            "sequence_start",
            "sequence_end",
            "priority",
            "timeout",
            "binary_data_output",
            "headers",
            Parameters.BUDGET,
            Parameters.TIMINGS,
            Parameters.RECEIPT);

    private final String model;
    private String version = "";
    private String id = "";
    private final Map<String, Tensor> inputs = new LinkedHashMap<>();
    private final Map<String, Integer> outputs = new LinkedHashMap<>();
    private final Map<String, InferParameter> parameters = new LinkedHashMap<>();
    private @Nullable Duration deadline;
    private @Nullable String sequence;

    private Builder(String model) {
      if (model.isEmpty()) {
        throw new IllegalArgumentException("a request names its model");
      }
      this.model = model;
    }

    public Builder version(String version) {
      this.version = Objects.requireNonNull(version);
      return this;
    }

    public Builder id(String id) {
      this.id = Objects.requireNonNull(id);
      return this;
    }

    public Builder input(String name, Tensor tensor) {
      if (inputs.putIfAbsent(name, Objects.requireNonNull(tensor)) != null) {
        throw new IllegalArgumentException("input '%s' is there already".formatted(name));
      }
      return this;
    }

    /** Requests an output. Once one is named, only named ones are returned. */
    public Builder output(String name) {
      return outputClasses(name, 0);
    }

    /** Requests the top classes of an output, as BYTES {@code value:index[:label]}. */
    public Builder classes(String name, int count) {
      if (count < 1) {
        throw new IllegalArgumentException(
            "1 class or more of output '%s' can be wanted, got %d".formatted(name, count));
      }
      return outputClasses(name, count);
    }

    private Builder outputClasses(String name, int count) {
      if (outputs.putIfAbsent(name, count) != null) {
        throw new IllegalArgumentException("output '%s' is asked for already".formatted(name));
      }
      return this;
    }

    /** 1 is the highest; 0 is the model's default. */
    public Builder priority(long priority) {
      if (priority < 0) {
        throw new IllegalArgumentException("a priority is 0 or more, got " + priority);
      }
      return set("priority", InferParameter.newBuilder().setUint64Param(priority).build());
    }

    /** Limit on the wait in the server's queue, to the microsecond, if the model allows one. */
    public Builder queueTimeout(Duration timeout) {
      long micros = timeout.toNanos() / 1000;
      if (micros < 1) {
        throw new IllegalArgumentException("a queue timeout is 1 µs or more, got " + timeout);
      }
      return set("timeout", Parameters.of(micros));
    }

    /** Limit on the call with all its attempts, instead of the client's default. */
    public Builder deadline(Duration deadline) {
      if (deadline.isNegative() || deadline.isZero()) {
        throw new IllegalArgumentException("a deadline is more than 0, got " + deadline);
      }
      this.deadline = deadline;
      return this;
    }

    /** A step of a sequence, by number. */
    public Builder sequence(long sequence, boolean start, boolean end) {
      if (sequence == 0) {
        throw new IllegalArgumentException("0 is no sequence; number them from 1");
      }
      this.sequence = Long.toString(sequence);
      return sequence(Parameters.of(sequence), start, end);
    }

    /** A step of a sequence, by name. */
    public Builder sequence(String sequence, boolean start, boolean end) {
      if (sequence.isEmpty()) {
        throw new IllegalArgumentException("a sequence's name is not empty");
      }
      this.sequence = sequence;
      return sequence(Parameters.of(sequence), start, end);
    }

    private Builder sequence(InferParameter name, boolean start, boolean end) {
      set("sequence_id", name);
      set("sequence_start", Parameters.of(start));
      return set("sequence_end", Parameters.of(end));
    }

    /** Requests a receipt; servers other than Roundhouse send none. */
    public Builder receipt() {
      return set(Parameters.RECEIPT, Parameters.of(true));
    }

    /** Requests the server's timings; servers other than Roundhouse send none. */
    public Builder timings() {
      return set(Parameters.TIMINGS, Parameters.of(true));
    }

    /**
     * Requests, of a model that may answer many times, one more answer without outputs when none
     * before it said that it was the {@linkplain InferResult#last last}; for streams.
     */
    public Builder tellEnd() {
      return set(Parameters.TELL_END, Parameters.of(true));
    }

    /** A parameter that the model or server knows. */
    public Builder parameter(String name, String value) {
      return own(name, Parameters.of(value));
    }

    /** A parameter that the model or server knows. */
    public Builder parameter(String name, long value) {
      return own(name, Parameters.of(value));
    }

    /** A parameter that the model or server knows. */
    public Builder parameter(String name, boolean value) {
      return own(name, Parameters.of(value));
    }

    /** A parameter that the model or server knows. */
    public Builder parameter(String name, double value) {
      return own(name, InferParameter.newBuilder().setDoubleParam(value).build());
    }

    private Builder own(String name, InferParameter value) {
      if (OWN.contains(name) || name.startsWith("triton_")) {
        throw new IllegalArgumentException(
            "parameter '%s' is the protocol's own; use the method for it, or another name"
                .formatted(name));
      }
      return set(name, value);
    }

    private Builder set(String name, InferParameter value) {
      parameters.put(name, value);
      return this;
    }

    public InferRequest build() {
      if (inputs.isEmpty()) {
        throw new IllegalArgumentException("a request to '%s' has no input".formatted(model));
      }
      return new InferRequest(this);
    }
  }
}
