/**
 * Memory that clients share with this machine: regions they register, what requests read from them
 * and answers write to them. Thread-safe.
 */
@NullMarked
package dev.roundhouse.worker.transport.shm;

import org.jspecify.annotations.NullMarked;
