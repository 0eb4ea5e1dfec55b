/**
 * Operators' questions that one process answers for others: a node and a gateway for their workers.
 * Asks them all at once, for a bounded time, and says which have answered. Holds nothing between
 * two questions but connections.
 */
@NullMarked
package dev.roundhouse.platform.operators;

import org.jspecify.annotations.NullMarked;
