/**
 * What every transport shares: how a decoded request becomes the engine's, how an outcome becomes
 * an answer, and the one table from engine statuses to the wire's. Stateless; called from event
 * loops and from the dispatch thread.
 */
@NullMarked
package dev.roundhouse.worker.transport;

import org.jspecify.annotations.NullMarked;
