/** Which weights are on the device: the buffers made of a model's host weights. */
@NullMarked
package dev.roundhouse.engine.residency;

import org.jspecify.annotations.NullMarked;
