/**
 * The engine's clock: monotonic nanoseconds, never wall time. Tests and simulations put {@link
 * dev.roundhouse.engine.time.ManualClock} in its place and decide themselves when time passes.
 */
@NullMarked
package dev.roundhouse.engine.time;

import org.jspecify.annotations.NullMarked;
