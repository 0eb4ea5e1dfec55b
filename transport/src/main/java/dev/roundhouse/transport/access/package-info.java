/**
 * What a caller may do, as far as it is checked while a request arrives. Decided elsewhere; servers
 * ask here.
 */
@NullMarked
package dev.roundhouse.transport.access;

import org.jspecify.annotations.NullMarked;
