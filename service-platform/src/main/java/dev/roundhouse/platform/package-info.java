/**
 * What the applications have in common: how they read their settings, log, say that they are ready
 * and open their gRPC ports. Knows Spring and no application; the rooms stand beside each other.
 */
@NullMarked
package dev.roundhouse.platform;

import org.jspecify.annotations.NullMarked;
