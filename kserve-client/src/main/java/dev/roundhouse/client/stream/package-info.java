/**
 * A client of tensor streams ({@code TSTREAM/1}): shapes are agreed on once, then only the bytes of
 * tensors are sent. Start at {@link dev.roundhouse.client.stream.TensorStream}, which belongs to
 * one thread.
 */
@NullMarked
package dev.roundhouse.client.stream;

import org.jspecify.annotations.NullMarked;
