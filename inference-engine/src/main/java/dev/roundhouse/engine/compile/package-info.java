/**
 * How a program gets to a device: from the cache of compiled programs, from a compiler in a
 * separate process, or from the device itself. {@link dev.roundhouse.engine.compile.Compilation}
 * leaves behind a device that does so; nothing else of the engine knows of it. Its state is files
 * and counters; compile threads call it.
 */
@NullMarked
package dev.roundhouse.engine.compile;

import org.jspecify.annotations.NullMarked;
