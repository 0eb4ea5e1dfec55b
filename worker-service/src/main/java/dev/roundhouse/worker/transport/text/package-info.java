/**
 * Texts in the shapes of other servers' clients, for models whose manifest says a task: each
 * request becomes inference requests of so many rows as a model runs at once, on a virtual thread,
 * which owns all of it from the body to the answer.
 */
@NullMarked
package dev.roundhouse.worker.transport.text;

import org.jspecify.annotations.NullMarked;
