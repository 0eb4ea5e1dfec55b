package dev.roundhouse.engine.request;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import java.lang.foreign.MemorySegment;

/**
 * A named output of one request, without padding or other callers' rows. Dense, row-major,
 * little-endian; {@code data} is readable as long as the {@link Answer} it came in.
 */
public record OutputTensor(String name, DType dtype, Shape shape, MemorySegment data) {}
