package dev.roundhouse.client;

import dev.roundhouse.kserve.proto.InferParameter;
import java.util.Map;

/** Parameters of the protocol and Roundhouse's own. */
final class Parameters {
  /** What is left of the deadline when a request is sent, in nanoseconds. */
  static final String BUDGET = "reactant_timeout_ns";

  /** Asks for the times below. */
  static final String TIMINGS = "roundhouse_timings";

  /** Asks for a {@link Receipt}. */
  static final String RECEIPT = "roundhouse_receipt";

  static final String CLASSES = "classification";
  static final String REGION = "shared_memory_region";
  static final String REGION_OFFSET = "shared_memory_offset";
  static final String REGION_BYTES = "shared_memory_byte_size";

  /** Asks for an answer at the end, where none says that it is the last. */
  static final String TELL_END = "triton_enable_empty_final_response";

  static final String FINAL = "triton_final_response";

  private Parameters() {}

  static InferParameter of(long value) {
    return InferParameter.newBuilder().setInt64Param(value).build();
  }

  static InferParameter of(boolean value) {
    return InferParameter.newBuilder().setBoolParam(value).build();
  }

  static InferParameter of(String value) {
    return InferParameter.newBuilder().setStringParam(value).build();
  }

  /**
   * A whole number, whichever of its two types it came as; {@code otherwise} when it is not there.
   */
  static long number(Map<String, InferParameter> parameters, String name, long otherwise) {
    InferParameter value = parameters.get(name);
    if (value == null) {
      return otherwise;
    }
    return switch (value.getParameterChoiceCase()) {
      case INT64_PARAM -> value.getInt64Param();
      case UINT64_PARAM -> value.getUint64Param();
      case BOOL_PARAM, STRING_PARAM, DOUBLE_PARAM, PARAMETERCHOICE_NOT_SET -> otherwise;
    };
  }
}
