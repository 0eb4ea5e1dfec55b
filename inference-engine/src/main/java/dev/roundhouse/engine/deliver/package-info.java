/**
 * How a batch ends: outputs are cut apart into memory of the answer pool, and every member is
 * answered exactly once, or told why not. Small outputs are delivered on {@code dispatch}, large
 * ones on {@code outputs}.
 */
@NullMarked
package dev.roundhouse.engine.deliver;

import org.jspecify.annotations.NullMarked;
