/**
 * From start to exit: starts the processes, probes their readiness, and stops them before anything
 * else.
 */
@NullMarked
package dev.roundhouse.node.lifecycle;

import org.jspecify.annotations.NullMarked;
