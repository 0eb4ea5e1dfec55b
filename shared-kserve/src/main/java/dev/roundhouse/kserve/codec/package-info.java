/**
 * Turns messages of the wire into checked tensors and back. Only what repeats is kept from one
 * message to the next: names ({@link dev.roundhouse.kserve.codec.NameCache}) and the bytes around
 * id and data ({@link dev.roundhouse.kserve.codec.RequestTemplates}). The payload stays in the
 * message's own memory, every size is checked before anything is allocated, and whatever is wrong
 * with a message is a {@link dev.roundhouse.kserve.status.WireException}. Error texts are Triton's
 * where stock clients match on them.
 */
@NullMarked
package dev.roundhouse.kserve.codec;

import org.jspecify.annotations.NullMarked;
