/**
 * What every transport shares: how a decoded request becomes the engine's, how an outcome becomes
 * an answer, what callers may ask of models and their repository, and the one table from engine
 * statuses to the wire's. Stateless; called from event loops, virtual threads and the dispatch
 * thread.
 */
@NullMarked
package dev.roundhouse.worker.transport;

import org.jspecify.annotations.NullMarked;
