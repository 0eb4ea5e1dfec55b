/** Calls that several workers answer together: sent to all of them, and merged into one answer. */
@NullMarked
package dev.roundhouse.gateway.calls;

import org.jspecify.annotations.NullMarked;
