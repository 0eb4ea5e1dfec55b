/**
 * From start-up to exit: which models are loaded, when the worker calls itself ready, and the order
 * in which it stops. Owns the engine's life; transports only ask.
 */
@NullMarked
package dev.roundhouse.worker.lifecycle;

import org.jspecify.annotations.NullMarked;
