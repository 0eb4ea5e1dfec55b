/**
 * Requests that wait, as data: a bounded hand-over from any thread to the dispatch thread, and one
 * queue per model; and the memory and the counts of what was accepted. Queues belong to the
 * dispatch thread; {@link dev.roundhouse.engine.queue.Ingress}, {@link
 * dev.roundhouse.engine.queue.ByteBudget} and {@link dev.roundhouse.engine.queue.Accounting} to
 * nobody: any thread may call them.
 */
@NullMarked
package dev.roundhouse.engine.queue;

import org.jspecify.annotations.NullMarked;
