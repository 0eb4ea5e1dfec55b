/**
 * Runs one machine: finds its devices, starts a worker process for each and a gateway before them,
 * and starts again what ends. Holds no model and no connection of a client.
 */
@NullMarked
package dev.roundhouse.node;

import org.jspecify.annotations.NullMarked;
