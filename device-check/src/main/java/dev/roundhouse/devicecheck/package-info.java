/**
 * Finds out what a device does and how fast: runs each {@link dev.roundhouse.devicecheck.Step} in a
 * separate process, so that a step that hangs, crashes or keeps memory does not affect others, and
 * prints and writes their findings. The parent process never touches the device.
 */
@NullMarked
package dev.roundhouse.devicecheck;

import org.jspecify.annotations.NullMarked;
