/**
 * Transports that others have written: they are found on the class path and in jars, opened where
 * the operator has switched them on, and given what {@code engine.transport} promises. Their code
 * is nobody's we know, so that whatever it does costs that transport alone: its answers come by a
 * thread of its own, and the end of the process does not wait for it.
 */
@NullMarked
package dev.roundhouse.worker.transport.added;

import org.jspecify.annotations.NullMarked;
