/**
 * Rows of {@code bench engine} that need no accelerator and no second process: the simulation's
 * studies of the engine's policy, printed as cells. They depend on nothing but the seed, so they
 * are the same on every machine.
 */
@NullMarked
package dev.roundhouse.benchmarks.engine.simulated;

import org.jspecify.annotations.NullMarked;
