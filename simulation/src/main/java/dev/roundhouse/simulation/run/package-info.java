/**
 * One simulation from its first arrival to its last outcome: {@link
 * dev.roundhouse.simulation.run.Simulation} drives the engine and the clock, {@link
 * dev.roundhouse.simulation.run.Ledger} follows every call and every run, {@link
 * dev.roundhouse.simulation.run.Findings} is the result. One thread owns it all.
 */
@NullMarked
package dev.roundhouse.simulation.run;

import org.jspecify.annotations.NullMarked;
