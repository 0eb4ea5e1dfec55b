/**
 * Measures eviction policies: sequences of requests, caches that know more than a policy can (how
 * popular each model is, or the future), and the share of requests that find their weights on the
 * device. No device and no time: only what is asked for, in which order.
 */
@NullMarked
package dev.roundhouse.simulation.cache;

import org.jspecify.annotations.NullMarked;
