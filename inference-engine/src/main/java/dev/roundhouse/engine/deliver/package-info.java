/**
 * How a batch ends: outputs are cut apart into memory of the answer pool, or lent as they lie, and
 * every member is answered exactly once, or told why not. Small outputs are delivered on {@code
 * dispatch}, large ones on {@code outputs}; what answers lie in is given back by any thread.
 */
@NullMarked
package dev.roundhouse.engine.deliver;

import org.jspecify.annotations.NullMarked;
