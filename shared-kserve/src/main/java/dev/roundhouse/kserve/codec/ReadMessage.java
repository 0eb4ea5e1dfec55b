package dev.roundhouse.kserve.codec;

import java.util.List;
import java.util.Map;

/**
 * A request that was read field by field; nothing of it has been checked.
 *
 * @param memory of raw tensors
 */
public record ReadMessage(
    String modelName,
    String modelVersion,
    String id,
    Map<String, ParameterValue> parameters,
    List<TensorHeader> inputs,
    List<OutputHeader> outputs,
    MessageMemory memory)
    implements InferMessage {}
