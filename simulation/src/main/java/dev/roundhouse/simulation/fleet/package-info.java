/**
 * The models of a simulation and the device they run on: what each run costs, what it computes so
 * that answers can be checked, and what goes wrong now and then. Values, but for {@link
 * dev.roundhouse.simulation.fleet.ObservedDevice}, which the simulation's one thread owns.
 */
@NullMarked
package dev.roundhouse.simulation.fleet;

import org.jspecify.annotations.NullMarked;
