package dev.roundhouse.kserve.codec;

import java.util.Map;

/** An output that a request asks for. */
public record OutputHeader(String name, Map<String, ParameterValue> parameters) {}
