/**
 * The wire: what it costs to get a request from the bytes of a message to the engine, and an answer
 * back, against the same work done by others.
 */
@NullMarked
package dev.roundhouse.benchmarks.wire;

import org.jspecify.annotations.NullMarked;
