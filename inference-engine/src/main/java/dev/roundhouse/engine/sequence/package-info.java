/**
 * State between requests: which sequence a request continues, what state it receives and leaves,
 * and the order of its steps, which run one after the other.
 */
@NullMarked
package dev.roundhouse.engine.sequence;

import org.jspecify.annotations.NullMarked;
