/**
 * Ours in turns with the least that could be done on the same device: {@link
 * dev.roundhouse.measure.turns.HotModelTurns} the whole engine with a bare loop, {@link
 * dev.roundhouse.measure.turns.CallTurns} the binding with the same calls made by C++.
 */
@NullMarked
package dev.roundhouse.measure.turns;

import org.jspecify.annotations.NullMarked;
