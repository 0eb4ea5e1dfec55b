/**
 * The Device SPI: compile, upload, execute, download, stats, and {@link
 * dev.roundhouse.engine.device.SimulatedDevice}, which stands in for an accelerator where scale,
 * faults or determinism are wanted. Every implementation passes {@code DeviceContractTest}.
 *
 * <p>Only the dispatch thread executes; compile threads compile; the owner of a handle closes it.
 */
@NullMarked
package dev.roundhouse.engine.device;

import org.jspecify.annotations.NullMarked;
