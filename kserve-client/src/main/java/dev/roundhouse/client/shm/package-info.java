/**
 * Memory that this process shares with servers of the same machine: POSIX objects, and their slots.
 * Knows no connection; who registers them is the client.
 */
@NullMarked
package dev.roundhouse.client.shm;

import org.jspecify.annotations.NullMarked;
