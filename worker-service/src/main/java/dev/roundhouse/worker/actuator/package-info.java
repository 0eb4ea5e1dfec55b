/**
 * What operators see beside the protocol: health with causes, metrics, models, the scheduler, the
 * ports that are bound; and weights, pins, loads, the drain and recordings, which {@link
 * dev.roundhouse.platform.access.Access} decides about before they come here. What the dispatch
 * thread alone knows is asked of it and not waited for long.
 */
@NullMarked
package dev.roundhouse.worker.actuator;

import org.jspecify.annotations.NullMarked;
