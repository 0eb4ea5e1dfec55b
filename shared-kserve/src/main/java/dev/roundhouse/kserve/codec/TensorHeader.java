package dev.roundhouse.kserve.codec;

import java.util.Map;

/**
 * An input as a request names it; nothing of it has been checked.
 *
 * @param datatype as it was written
 * @param dims extents; of any sign
 */
public record TensorHeader(
    String name,
    String datatype,
    long[] dims,
    Map<String, ParameterValue> parameters,
    TensorSource source) {}
