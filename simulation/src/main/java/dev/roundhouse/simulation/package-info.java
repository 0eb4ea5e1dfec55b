/**
 * The engine in fast motion: the command {@code ./roundhouse sim}. {@link
 * dev.roundhouse.simulation.SimOptions} is what was asked for, {@code Scenarios} makes a {@link
 * dev.roundhouse.simulation.run.Scenario} of it, {@link dev.roundhouse.simulation.run.Simulation}
 * runs it, a report prints what came out. Nothing that is printed to stdout depends on how fast
 * this machine is.
 */
@NullMarked
package dev.roundhouse.simulation;

import org.jspecify.annotations.NullMarked;
