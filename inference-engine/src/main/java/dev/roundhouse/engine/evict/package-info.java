/**
 * Which of the models whose weights are on the device is worth least there. Deterministic functions
 * of what the caller hands in: no thread, no clock, no device. The dispatch thread owns what state
 * there is. What is evicted and why: docs/residency.md.
 */
@NullMarked
package dev.roundhouse.engine.evict;

import org.jspecify.annotations.NullMarked;
