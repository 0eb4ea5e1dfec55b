/**
 * State of sequences on the device: from step to step it stays there, and goes to the host when
 * others need the room. Guarded by one lock, {@link dev.roundhouse.engine.state.DeviceStates}; any
 * thread may call.
 */
@NullMarked
package dev.roundhouse.engine.state;

import org.jspecify.annotations.NullMarked;
