/**
 * Weights in host memory: a {@link dev.roundhouse.engine.hostweights.HostWeights} per model, from
 * which they are uploaded. What is kept there, what is shared with other processes of the machine,
 * what is let go under a budget and read again from the files is decided by the {@link
 * dev.roundhouse.engine.hostweights.HostWeightStore}, which owns all of the memory. Host weights
 * are opened on compile threads and leased on the thread {@code weights}; any thread may read a
 * lease.
 */
@NullMarked
package dev.roundhouse.engine.hostweights;

import org.jspecify.annotations.NullMarked;
