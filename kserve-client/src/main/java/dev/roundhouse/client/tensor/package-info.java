/**
 * Tensors as programs have them and as the wire has them. Values over memory that is borrowed,
 * never copied unless a method says so.
 */
@NullMarked
package dev.roundhouse.client.tensor;

import org.jspecify.annotations.NullMarked;
