/**
 * What operators see beside the protocol: health with causes, metrics, the ports that are bound.
 * Reads only.
 */
@NullMarked
package dev.roundhouse.worker.actuator;

import org.jspecify.annotations.NullMarked;
