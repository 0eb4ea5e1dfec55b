/**
 * Memory that this process shares with servers of the same machine: POSIX objects, and their slots.
 * Uses no connection; the client registers them.
 */
@NullMarked
package dev.roundhouse.client.shm;

import org.jspecify.annotations.NullMarked;
