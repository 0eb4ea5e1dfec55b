/**
 * Which model runs next and how many of its requests run together. Pure functions over what the
 * caller hands in: no thread, no clock, no queue. Formulas and vectors are ReactantServer's, named
 * where they are used.
 */
@NullMarked
package dev.roundhouse.engine.schedule;

import org.jspecify.annotations.NullMarked;
