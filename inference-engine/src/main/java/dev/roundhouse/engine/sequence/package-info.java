/**
 * State between requests: which sequence a request continues, what the server feeds it and keeps of
 * its answer, and that the steps of one sequence run one after the other.
 */
@NullMarked
package dev.roundhouse.engine.sequence;

import org.jspecify.annotations.NullMarked;
