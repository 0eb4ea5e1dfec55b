/**
 * When calls arrive and for which model: seeded processes that give the same arrivals for the same
 * seed on every machine. A {@link dev.roundhouse.simulation.traffic.Workload} composes how often
 * each model is called with how its calls are spread over time.
 */
@NullMarked
package dev.roundhouse.simulation.traffic;

import org.jspecify.annotations.NullMarked;
