/**
 * Shared memory of clients on this machine: the regions they register, which requests read and
 * answers write. Thread-safe.
 */
@NullMarked
package dev.roundhouse.worker.transport.shm;

import org.jspecify.annotations.NullMarked;
