/** Which weights are on the device: the buffers made of a model's host floor. */
@NullMarked
package dev.roundhouse.engine.residency;

import org.jspecify.annotations.NullMarked;
