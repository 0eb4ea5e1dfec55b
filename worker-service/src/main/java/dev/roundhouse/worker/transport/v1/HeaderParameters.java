package dev.roundhouse.worker.transport.v1;

import dev.roundhouse.kserve.codec.MessageLimits;
import dev.roundhouse.kserve.codec.ParameterValue;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.v1.proto.InferRequestHeader;
import dev.roundhouse.kserve.v1.proto.InferRequestHeader.Flag;
import dev.roundhouse.kserve.v1.proto.InferSharedMemory;
import java.util.LinkedHashMap;
import java.util.Map;

/** Fields of v1 that are parameters in v2. Pure. */
final class HeaderParameters {
  private static final int KNOWN_FLAGS =
      Flag.FLAG_SEQUENCE_START_VALUE | Flag.FLAG_SEQUENCE_END_VALUE;

  private HeaderParameters() {}

  /**
   * Parameters of the request.
   *
   * @throws WireException INVALID_ARGUMENT for what no parameter can say
   */
  static Map<String, ParameterValue> of(InferRequestHeader header) {
    Map<String, ParameterValue> parameters = new LinkedHashMap<>();
    int flags = header.getFlags();
    if ((flags & ~KNOWN_FLAGS) != 0) {
      throw WireException.invalidArgument(
          "flags is %s; it may have %d (FLAG_SEQUENCE_START) and %d (FLAG_SEQUENCE_END)"
              .formatted(
                  Integer.toUnsignedString(flags),
                  Flag.FLAG_SEQUENCE_START_VALUE,
                  Flag.FLAG_SEQUENCE_END_VALUE));
    }
    if (header.getCorrelationId() != 0) {
      parameters.put("sequence_id", new ParameterValue.Unsigned(header.getCorrelationId()));
    } else if (flags != 0) {
      throw WireException.invalidArgument(
          "flags is %d and correlation_id is 0; a sequence needs a correlation_id that is not 0"
              .formatted(flags));
    }
    if ((flags & Flag.FLAG_SEQUENCE_START_VALUE) != 0) {
      parameters.put("sequence_start", new ParameterValue.Flag(true));
    }
    if ((flags & Flag.FLAG_SEQUENCE_END_VALUE) != 0) {
      parameters.put("sequence_end", new ParameterValue.Flag(true));
    }
    if (header.getPriority() != 0) {
      long level = Integer.toUnsignedLong(header.getPriority());
      parameters.put("priority", new ParameterValue.Signed(level));
    }
    if (header.getTimeoutMicroseconds() != 0) {
      long micros = signed("timeout_microseconds", header.getTimeoutMicroseconds());
      parameters.put("timeout", new ParameterValue.Signed(micros));
    }
    return parameters;
  }

  /**
   * Parameters of a tensor in shared memory.
   *
   * @param tensor its name
   */
  static Map<String, ParameterValue> place(String tensor, InferSharedMemory memory) {
    if (memory.getName().isEmpty()) {
      throw WireException.invalidArgument(
          "shared_memory.name of '%s' is empty; name the region that was registered"
              .formatted(tensor));
    }
    MessageLimits.requireName("shared_memory.name", memory.getName());
    Map<String, ParameterValue> place = LinkedHashMap.newLinkedHashMap(3);
    place.put("shared_memory_region", new ParameterValue.Text(memory.getName()));
    place.put(
        "shared_memory_offset",
        new ParameterValue.Signed(
            signed("shared_memory.offset of '" + tensor + "'", memory.getOffset())));
    place.put(
        "shared_memory_byte_size",
        new ParameterValue.Signed(
            signed("shared_memory.byte_size of '" + tensor + "'", memory.getByteSize())));
    return place;
  }

  /** A number that v1 has as unsigned and v2 as signed. */
  static long signed(String what, long value) {
    if (value < 0) {
      throw WireException.invalidArgument(
          "%s is %s; the limit is %d"
              .formatted(what, Long.toUnsignedString(value), Long.MAX_VALUE));
    }
    return value;
  }
}
