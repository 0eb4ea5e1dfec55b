/**
 * The v1 protocol, that of the TensorRT Inference Server, in front of what serves v2: a request
 * becomes the same request, an outcome is told in v1's words, and nothing here knows another way
 * into the engine. The models' contracts are looked up, because v1 leaves out what they say.
 */
@NullMarked
package dev.roundhouse.worker.transport.v1;

import org.jspecify.annotations.NullMarked;
