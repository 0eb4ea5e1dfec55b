/**
 * The one table of how a call can fail on the wire, and the exception that carries it to the edge.
 * Values only; every transport uses it and nothing else decides codes.
 */
@NullMarked
package dev.roundhouse.kserve.status;

import org.jspecify.annotations.NullMarked;
