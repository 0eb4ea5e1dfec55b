/**
 * The port that learners connect to (docs/tee.md): one connection reads one model's batches, in
 * place, and acknowledges them by number. Each connection belongs to its event loop.
 */
@NullMarked
package dev.roundhouse.worker.tee.learner;

import org.jspecify.annotations.NullMarked;
