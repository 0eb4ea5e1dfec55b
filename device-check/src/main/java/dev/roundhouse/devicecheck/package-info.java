/**
 * Finds out what a device does and how fast: runs each {@link dev.roundhouse.devicecheck.Step} in a
 * process of its own, so that a step that hangs, crashes or keeps memory costs no other, and prints
 * and writes what they found. The parent process never touches the device.
 */
@NullMarked
package dev.roundhouse.devicecheck;

import org.jspecify.annotations.NullMarked;
