/**
 * What operators see beside the protocol: health with causes, metrics, models, the scheduler, the
 * ports that are bound. Reads only, but for weights, pins, loads and the drain where an operator
 * has granted that. What the dispatch thread alone knows is asked of it and not waited for long.
 */
@NullMarked
package dev.roundhouse.worker.actuator;

import org.jspecify.annotations.NullMarked;
