/**
 * How a batch ends: outputs are split into memory of the answer pool, or lent in place, and every
 * member gets exactly one answer or failure. Small outputs are delivered on {@code dispatch}, large
 * ones on {@code outputs}; any thread may give answer memory back.
 */
@NullMarked
package dev.roundhouse.engine.deliver;

import org.jspecify.annotations.NullMarked;
