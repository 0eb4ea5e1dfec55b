/**
 * First station of a request's way: what a caller wants, where the answer goes, and how a request
 * can end. A transport makes a request and a sink; everything else about it is the engine's own
 * record, {@code queue.QueuedRequest}.
 */
@NullMarked
package dev.roundhouse.engine.request;

import org.jspecify.annotations.NullMarked;
