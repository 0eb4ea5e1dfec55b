package dev.roundhouse.kserve.codec;

import dev.roundhouse.bundle.request.RequestOptions;
import dev.roundhouse.bundle.request.SequenceStep;
import dev.roundhouse.kserve.status.WireException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Request and tensor parameters that mean something here. Of a request, all others are its model's:
 * what has code reads them. Others of tensors are ignored, as everywhere.
 */
final class Parameters {
  private static final String TIMEOUT_NANOS = "reactant_timeout_ns";
  private static final String PRIORITY = "priority";
  private static final String QUEUE_TIMEOUT = "timeout";
  private static final String SEQUENCE_ID = "sequence_id";
  private static final String SEQUENCE_START = "sequence_start";
  private static final String SEQUENCE_END = "sequence_end";
  private static final String TIMINGS = "roundhouse_timings";
  private static final String RECEIPT = "roundhouse_receipt";
  private static final String EMPTY_FINAL_RESPONSE = "triton_enable_empty_final_response";
  private static final String BINARY_BY_DEFAULT = "binary_data_output";
  private static final String RESERVED_PREFIX = "triton_";
  private static final String OWN_PREFIX = "roundhouse_";

  /** What {@link #options} reads, and the forms of answers, which a transport reads. */
  private static final Set<String> KNOWN =
      Set.of(
          TIMEOUT_NANOS,
          PRIORITY,
          QUEUE_TIMEOUT,
          SEQUENCE_ID,
          SEQUENCE_START,
          SEQUENCE_END,
          BINARY_BY_DEFAULT);

  static final String SHARED_MEMORY = "shared_memory_region";
  private static final String SHARED_MEMORY_OFFSET = "shared_memory_offset";
  private static final String SHARED_MEMORY_SIZE = "shared_memory_byte_size";
  private static final String CLASSIFICATION = "classification";

  private Parameters() {}

  /** Of all parameters of a request, those too that mean nothing here: Triton's rules. */
  static void check(Map<String, ParameterValue> parameters) {
    for (Map.Entry<String, ParameterValue> parameter : parameters.entrySet()) {
      String name = parameter.getKey();
      if (parameter.getValue() instanceof ParameterValue.Unset none) {
        throw wrongType(
            name, "bool_param, int64_param, uint64_param, double_param or string_param", none);
      }
      if (name.startsWith(RESERVED_PREFIX) && !name.equals(EMPTY_FINAL_RESPONSE)) {
        throw WireException.invalidArgument(
            "parameter '" + name + "' is reserved for Triton usage; rename it");
      }
    }
    flag(parameters, EMPTY_FINAL_RESPONSE);
  }

  /** Whether the end of a decoupled model's answer is to be told though nothing is left to say. */
  static boolean wantsEmptyEnd(Map<String, ParameterValue> parameters) {
    return !parameters.isEmpty() && flag(parameters, EMPTY_FINAL_RESPONSE);
  }

  /** How a request is to be treated. */
  static RequestOptions options(Map<String, ParameterValue> parameters) {
    return parameters.isEmpty()
        ? RequestOptions.DEFAULT
        : new RequestOptions(
            timeoutNanos(parameters),
            priority(parameters),
            queueTimeoutNanos(parameters),
            sequence(parameters),
            flag(parameters, TIMINGS),
            flag(parameters, RECEIPT),
            false,
            ofModel(parameters));
  }

  /** What nobody but the model's own code understands. */
  private static Map<String, Object> ofModel(Map<String, ParameterValue> parameters) {
    Map<String, Object> own = Map.of();
    long characters = 0;
    for (Map.Entry<String, ParameterValue> parameter : parameters.entrySet()) {
      String name = parameter.getKey();
      if (KNOWN.contains(name) || name.startsWith(RESERVED_PREFIX) || name.startsWith(OWN_PREFIX)) {
        continue;
      }
      if (own.isEmpty()) {
        own = new HashMap<>();
      }
      Object value = ofModel(name, parameter.getValue());
      own.put(name, value);
      characters += name.length() + (value instanceof String text ? text.length() : 0);
    }
    if (own.size() > MessageLimits.MODEL_PARAMETERS) {
      throw MessageLimits.exceeded(
          "the request", own.size() + " parameters for its model", MessageLimits.MODEL_PARAMETERS);
    }
    if (characters > MessageLimits.MODEL_PARAMETER_CHARACTERS) {
      throw MessageLimits.exceeded(
          "the request",
          characters + " characters of parameters for its model",
          MessageLimits.MODEL_PARAMETER_CHARACTERS);
    }
    return own;
  }

  private static Object ofModel(String name, ParameterValue value) {
    return switch (value) {
      case ParameterValue.Flag(boolean flag) -> flag;
      case ParameterValue.Signed(long number) -> number;
      case ParameterValue.Unsigned(long number) when number >= 0 -> number;
      case ParameterValue.Unsigned(long number) ->
          throw WireException.invalidArgument(
              "parameter '%s' is %s; a model is given whole numbers up to %d"
                  .formatted(name, Long.toUnsignedString(number), Long.MAX_VALUE));
      case ParameterValue.Real(double number) -> number;
      case ParameterValue.Text(String text) -> text;
      case ParameterValue.Unset unset ->
          throw new IllegalArgumentException("parameter '" + name + "' has no value");
    };
  }

  /** The caller's remaining budget; absent, zero and negative mean none. */
  static long timeoutNanos(Map<String, ParameterValue> parameters) {
    return switch (parameters.get(TIMEOUT_NANOS)) {
      case null -> RequestOptions.NO_TIMEOUT;
      case ParameterValue.Signed(long nanos) -> nanos <= 0 ? RequestOptions.NO_TIMEOUT : nanos;
      case ParameterValue other -> throw wrongType(TIMEOUT_NANOS, "int64_param", other);
    };
  }

  /** The level asked for; 0, as absent, is the model's default. */
  static long priority(Map<String, ParameterValue> parameters) {
    return switch (parameters.get(PRIORITY)) {
      case null -> 0;
      case ParameterValue.Signed(long level) -> {
        if (level < 0) {
          throw WireException.invalidArgument(
              "invalid value for 'priority' parameter, expected 0 or more but got " + level);
        }
        yield level;
      }
      // Above the largest long it is beyond the levels of any model: the default, as in Triton.
      case ParameterValue.Unsigned(long level) -> Math.max(0, level);
      case ParameterValue other -> throw wrongType(PRIORITY, "int64_param or uint64_param", other);
    };
  }

  /** How long the request may wait to run, sent in microseconds; absent and 0 mean no word. */
  static long queueTimeoutNanos(Map<String, ParameterValue> parameters) {
    return switch (parameters.get(QUEUE_TIMEOUT)) {
      case null -> 0;
      case ParameterValue.Signed(long micros) -> {
        if (micros < 0) {
          throw WireException.invalidArgument(
              "parameter 'timeout' is " + micros + " us; it must be 0 or more");
        }
        yield TimeUnit.MICROSECONDS.toNanos(micros);
      }
      case ParameterValue other -> throw wrongType(QUEUE_TIMEOUT, "int64_param", other);
    };
  }

  private static boolean flag(Map<String, ParameterValue> parameters, String name) {
    return switch (parameters.get(name)) {
      case null -> false;
      case ParameterValue.Flag(boolean set) -> set;
      case ParameterValue other -> throw wrongType(name, "bool_param", other);
    };
  }

  /** The sequence that the request belongs to; null, as for 0 and an empty text, for none. */
  static @Nullable SequenceStep sequence(Map<String, ParameterValue> parameters) {
    boolean start = flag(parameters, SEQUENCE_START);
    boolean end = flag(parameters, SEQUENCE_END);
    SequenceStep.Id id =
        switch (parameters.get(SEQUENCE_ID)) {
          case null -> SequenceStep.Id.of(0);
          case ParameterValue.Signed(long number) -> SequenceStep.Id.of(number);
          case ParameterValue.Unsigned(long number) -> SequenceStep.Id.of(number);
          case ParameterValue.Text(String text) -> {
            MessageLimits.requireName("parameter '" + SEQUENCE_ID + "'", text);
            yield SequenceStep.Id.of(text);
          }
          case ParameterValue other ->
              throw wrongType(SEQUENCE_ID, "int64_param or string_param", other);
        };
    if (id.number() != 0 || !id.text().isEmpty()) {
      return new SequenceStep(id, start, end);
    }
    if (start || end) {
      throw WireException.invalidArgument(
          "parameter '%s' needs a '%s' that is not 0 and not empty"
              .formatted(start ? SEQUENCE_START : SEQUENCE_END, SEQUENCE_ID));
    }
    return null;
  }

  private static WireException wrongType(String name, String expected, ParameterValue got) {
    return WireException.invalidArgument(
        "invalid value type for '"
            + name
            + "' parameter, expected "
            + expected
            + " but got "
            + kind(got));
  }

  /**
   * Where the bytes of a tensor are, when they are in shared memory; else null.
   *
   * @param tensor its name
   */
  static @Nullable RegionRange region(Map<String, ParameterValue> parameters, String tensor) {
    if (parameters.isEmpty()) {
      return null;
    }
    ParameterValue region = parameters.get(SHARED_MEMORY);
    if (region == null) {
      for (String name : List.of(SHARED_MEMORY_OFFSET, SHARED_MEMORY_SIZE)) {
        if (parameters.containsKey(name)) {
          throw WireException.invalidArgument(
              "'%s' can not be specified without '%s' parameter for tensor '%s'"
                  .formatted(name, SHARED_MEMORY, tensor));
        }
      }
      return null;
    }
    if (!(region instanceof ParameterValue.Text(String name))) {
      throw wrongTensorType(SHARED_MEMORY, tensor, "string_param", region);
    }
    if (!parameters.containsKey(SHARED_MEMORY_SIZE)) {
      throw WireException.invalidArgument(
          "'%s' must be specified along with '%s' parameter for tensor '%s'"
              .formatted(SHARED_MEMORY_SIZE, SHARED_MEMORY, tensor));
    }
    return new RegionRange(
        name,
        number(parameters, SHARED_MEMORY_OFFSET, tensor),
        number(parameters, SHARED_MEMORY_SIZE, tensor));
  }

  /** A number of bytes; absent is 0. */
  private static long number(Map<String, ParameterValue> parameters, String name, String tensor) {
    return switch (parameters.get(name)) {
      case null -> 0;
      case ParameterValue.Signed(long value) when value >= 0 -> value;
      case ParameterValue.Signed(long value) ->
          throw WireException.invalidArgument(
              "parameter '%s' of tensor '%s' is %d; it must be 0 or more"
                  .formatted(name, tensor, value));
      case ParameterValue other -> throw wrongTensorType(name, tensor, "int64_param", other);
    };
  }

  private static WireException wrongTensorType(
      String name, String tensor, String expected, ParameterValue got) {
    return WireException.invalidArgument(
        "invalid value type for '%s' parameter for tensor '%s', expected %s but got %s"
            .formatted(name, tensor, expected, kind(got)));
  }

  /**
   * How many of an output's highest elements are wanted in its stead; 0 for the output itself.
   *
   * @param output its name
   */
  static long classes(Map<String, ParameterValue> parameters, String output) {
    return switch (parameters.get(CLASSIFICATION)) {
      case null -> 0;
      case ParameterValue.Signed(long count) when count > 0 -> {
        if (parameters.containsKey(SHARED_MEMORY)) {
          throw WireException.invalidArgument(
              "output can't set both '%s' and '%s', as '%s' does; ask for one of them"
                  .formatted(SHARED_MEMORY, CLASSIFICATION, output));
        }
        yield count;
      }
      case ParameterValue.Signed(long count) ->
          throw WireException.invalidArgument(
              "invalid value for '%s' parameter, expected > 0 but got %d for output '%s'"
                  .formatted(CLASSIFICATION, count, output));
      case ParameterValue other -> throw wrongType(CLASSIFICATION, "int64_param", other);
    };
  }

  private static String kind(ParameterValue value) {
    return switch (value) {
      case ParameterValue.Flag flag -> "bool_param";
      case ParameterValue.Signed signed -> "int64_param";
      case ParameterValue.Text text -> "string_param";
      case ParameterValue.Real real -> "double_param";
      case ParameterValue.Unsigned unsigned -> "uint64_param";
      case ParameterValue.Unset unset -> "no value";
    };
  }
}
