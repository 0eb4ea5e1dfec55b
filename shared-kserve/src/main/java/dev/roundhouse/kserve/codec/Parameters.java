package dev.roundhouse.kserve.codec;

import dev.roundhouse.kserve.proto.InferParameter;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Request and tensor parameters that mean something here; others are ignored, as everywhere. */
final class Parameters {
  private static final String TIMEOUT_NANOS = "reactant_timeout_ns";
  private static final String PRIORITY = "priority";
  private static final String QUEUE_TIMEOUT = "timeout";
  private static final String EMPTY_FINAL_RESPONSE = "triton_enable_empty_final_response";
  private static final String RESERVED_PREFIX = "triton_";
  private static final String SHARED_MEMORY = "shared_memory_region";
  private static final String CLASSIFICATION = "classification";

  private Parameters() {}

  static void checkReserved(Map<String, InferParameter> parameters) {
    for (String name : parameters.keySet()) {
      if (name.startsWith(RESERVED_PREFIX) && !name.equals(EMPTY_FINAL_RESPONSE)) {
        throw WireException.invalidArgument(
            "parameter '" + name + "' is reserved for Triton usage; rename it");
      }
    }
  }

  /** The caller's remaining budget; absent, zero and negative mean none. */
  static long timeoutNanos(Map<String, InferParameter> parameters) {
    InferParameter timeout = parameters.get(TIMEOUT_NANOS);
    if (timeout == null) {
      return WireRequest.NO_TIMEOUT;
    }
    if (!timeout.hasInt64Param()) {
      throw wrongType(TIMEOUT_NANOS, "int64_param", timeout);
    }
    return timeout.getInt64Param() <= 0 ? WireRequest.NO_TIMEOUT : timeout.getInt64Param();
  }

  /** The level asked for; 0, as absent and negative, is the model's default. */
  static long priority(Map<String, InferParameter> parameters) {
    InferParameter priority = parameters.get(PRIORITY);
    if (priority == null) {
      return 0;
    }
    return switch (priority.getParameterChoiceCase()) {
      case INT64_PARAM -> Math.max(0, priority.getInt64Param());
      // Above the largest long it is beyond the levels of any model: the default, as in Triton.
      case UINT64_PARAM -> Math.max(0, priority.getUint64Param());
      default -> throw wrongType(PRIORITY, "int64_param or uint64_param", priority);
    };
  }

  /** How long the request may wait to run, sent in microseconds; absent and 0 mean no word. */
  static long queueTimeoutNanos(Map<String, InferParameter> parameters) {
    InferParameter timeout = parameters.get(QUEUE_TIMEOUT);
    if (timeout == null) {
      return 0;
    }
    if (!timeout.hasInt64Param()) {
      throw wrongType(QUEUE_TIMEOUT, "int64_param", timeout);
    }
    long micros = timeout.getInt64Param();
    if (micros < 0) {
      throw WireException.invalidArgument(
          "parameter 'timeout' is " + micros + " us; it must be 0 or more");
    }
    return TimeUnit.MICROSECONDS.toNanos(micros);
  }

  private static WireException wrongType(String name, String expected, InferParameter got) {
    return WireException.invalidArgument(
        "invalid value type for '"
            + name
            + "' parameter, expected "
            + expected
            + " but got "
            + kind(got));
  }

  /** Refuses what would change where a tensor's bytes are or what they mean. */
  static void checkTensor(Map<String, InferParameter> parameters, String tensor) {
    if (parameters.containsKey(SHARED_MEMORY)) {
      throw new WireException(
          WireStatus.UNIMPLEMENTED,
          "Client shared memory is disabled; send '"
              + tensor
              + "' inline, without "
              + SHARED_MEMORY);
    }
    if (parameters.containsKey(CLASSIFICATION)) {
      throw new WireException(
          WireStatus.UNIMPLEMENTED,
          "the classification extension is not supported; ask for '" + tensor + "' without it");
    }
  }

  private static String kind(InferParameter parameter) {
    return switch (parameter.getParameterChoiceCase()) {
      case BOOL_PARAM -> "bool_param";
      case INT64_PARAM -> "int64_param";
      case STRING_PARAM -> "string_param";
      case DOUBLE_PARAM -> "double_param";
      case UINT64_PARAM -> "uint64_param";
      case PARAMETERCHOICE_NOT_SET -> "no value";
    };
  }
}
