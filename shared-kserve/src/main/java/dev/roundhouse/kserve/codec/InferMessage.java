package dev.roundhouse.kserve.codec;

import java.util.List;
import java.util.Map;

/**
 * A ModelInfer request as it was read, whatever it was written in; {@link RequestCheck} says
 * whether it makes sense. Immutable, but for the memory of raw tensors, which may be the message's.
 *
 * @param memory of raw tensors
 */
public record InferMessage(
    String modelName,
    String modelVersion,
    String id,
    Map<String, ParameterValue> parameters,
    List<TensorHeader> inputs,
    List<OutputHeader> outputs,
    MessageMemory memory) {}
