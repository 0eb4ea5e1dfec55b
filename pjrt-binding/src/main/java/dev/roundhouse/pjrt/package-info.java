/**
 * The PJRT C API for Java, and the Device SPI on top of it: {@link dev.roundhouse.pjrt.PjrtPlugin}
 * loads a plugin, {@code PjrtClient} owns every native handle of one device, {@link
 * dev.roundhouse.pjrt.PjrtDevice} is what the engine sees. XLA aborts, hangs or answers wrongly on
 * many a misuse, so everything is checked here before native code is entered; C++ only converts and
 * calls. Handles are closed once, by their receiver; a client refuses to close over open ones. Only
 * the worker's wiring names this package.
 */
@NullMarked
package dev.roundhouse.pjrt;

import org.jspecify.annotations.NullMarked;
