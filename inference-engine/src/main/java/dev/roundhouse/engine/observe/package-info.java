/**
 * What the engine counts. One enum names every metric; counters are written on the request path and
 * read by whoever shows them.
 */
@NullMarked
package dev.roundhouse.engine.observe;

import org.jspecify.annotations.NullMarked;
