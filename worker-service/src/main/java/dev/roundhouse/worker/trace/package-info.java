/**
 * Traces of single requests: which are sampled, and Triton's JSON of when each of their stages
 * began. What is handed over for it costs no thread of the engine more than a place in a bounded
 * queue; a thread of its own writes.
 */
@NullMarked
package dev.roundhouse.worker.trace;

import org.jspecify.annotations.NullMarked;
