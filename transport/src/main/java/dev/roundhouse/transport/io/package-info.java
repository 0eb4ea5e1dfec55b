/**
 * What the servers have in common: event loops, buffers, turns among clients, watches over who
 * stalls.
 */
@NullMarked
package dev.roundhouse.transport.io;

import org.jspecify.annotations.NullMarked;
