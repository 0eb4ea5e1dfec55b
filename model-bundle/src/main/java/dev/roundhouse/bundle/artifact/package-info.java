/**
 * What can be known of a compiled program's source before any compiler sees it: its encoding, the
 * types {@code @main} takes and returns, and the constructs that are known to crash or hang XLA,
 * which are refused here; and what can be changed without one: how exactly it multiplies. Pure
 * functions over bytes; immutable results; any thread.
 */
@NullMarked
package dev.roundhouse.bundle.artifact;

import org.jspecify.annotations.NullMarked;
