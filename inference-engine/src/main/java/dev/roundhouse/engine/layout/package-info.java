/**
 * Where rows lie in the tensors of a program, and in the host memory from which a batch goes to the
 * device. Knows nothing of requests, lanes or runs. Owned by the dispatch thread.
 */
@NullMarked
package dev.roundhouse.engine.layout;

import org.jspecify.annotations.NullMarked;
