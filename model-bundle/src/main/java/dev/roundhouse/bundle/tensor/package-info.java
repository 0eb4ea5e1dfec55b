/**
 * What a tensor is: element type, shape, size in bytes. Values only, row-major as on the wire;
 * everything here is immutable and thread-safe, and any module may use it.
 */
@NullMarked
package dev.roundhouse.bundle.tensor;

import org.jspecify.annotations.NullMarked;
