/**
 * Where weights are: the host floor, one contiguous 64-byte-aligned block per model in the order
 * and layout the device wants, and the device buffers made of it.
 */
@NullMarked
package dev.roundhouse.engine.residency;

import org.jspecify.annotations.NullMarked;
