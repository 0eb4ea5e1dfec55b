/**
 * Puts the worker together: configuration in, device, engine and servers out. The only package that
 * knows which device implementation there is.
 */
@NullMarked
package dev.roundhouse.worker.wiring;

import org.jspecify.annotations.NullMarked;
