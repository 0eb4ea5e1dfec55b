/**
 * What worker and tools share of the v1 protocol, that of the TensorRT Inference Server, beside its
 * messages: how a call can fail in it, and its text form. Stateless.
 */
@NullMarked
package dev.roundhouse.kserve.v1;

import org.jspecify.annotations.NullMarked;
