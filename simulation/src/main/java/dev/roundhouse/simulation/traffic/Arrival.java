package dev.roundhouse.simulation.traffic;

/**
 * A call that is about to come.
 *
 * @param nanos since the start of the simulation
 * @param model index in the fleet
 */
public record Arrival(long nanos, int model) {}
