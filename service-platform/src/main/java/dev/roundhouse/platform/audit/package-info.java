/**
 * Who changed what: a line for each change that a client or an operator asked for, whatever else is
 * logged. Owns no state but the caller of the thread at hand.
 */
@NullMarked
package dev.roundhouse.platform.audit;

import org.jspecify.annotations.NullMarked;
