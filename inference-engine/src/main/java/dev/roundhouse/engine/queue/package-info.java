/**
 * Requests that wait, as data: a bounded hand-over from any thread to the dispatch thread, and one
 * ring per model. Everything but {@link dev.roundhouse.engine.queue.Ingress} belongs to the
 * dispatch thread.
 */
@NullMarked
package dev.roundhouse.engine.queue;

import org.jspecify.annotations.NullMarked;
