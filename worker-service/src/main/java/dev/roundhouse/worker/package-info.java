/**
 * The worker: one process per device. Assembles the engine, its device, the transports and the
 * actuator; what decides lives in the engine.
 */
@NullMarked
package dev.roundhouse.worker;

import org.jspecify.annotations.NullMarked;
