/**
 * Which model runs next and how many of its requests run together. Deterministic: no thread, no
 * clock, no queue. State belongs to the dispatch thread. Formulas and test vectors are
 * ReactantServer's where named, with its defects fixed.
 */
@NullMarked
package dev.roundhouse.engine.schedule;

import org.jspecify.annotations.NullMarked;
