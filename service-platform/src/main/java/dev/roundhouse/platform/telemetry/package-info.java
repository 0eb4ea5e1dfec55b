/**
 * Spans for OpenTelemetry. Nothing of it is on the way of a request that is not sampled. Of one
 * that is, its times are noted, and once it has been answered they wait in a bounded queue; a
 * thread of its own makes spans of them and sends them.
 */
@NullMarked
package dev.roundhouse.platform.telemetry;

import org.jspecify.annotations.NullMarked;
