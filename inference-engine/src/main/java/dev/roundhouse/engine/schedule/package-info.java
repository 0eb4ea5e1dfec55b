/**
 * Which model runs next and how many of its requests run together. Deterministic functions of what
 * the caller hands in: no thread, no clock, no queue. The dispatch thread owns what state there is.
 * Formulas and vectors are ReactantServer's where named, with its defects mended.
 */
@NullMarked
package dev.roundhouse.engine.schedule;

import org.jspecify.annotations.NullMarked;
