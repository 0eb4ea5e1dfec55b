/**
 * From start to exit: starts the processes, asks them whether they are ready, and stops them before
 * anything else stops.
 */
@NullMarked
package dev.roundhouse.node.lifecycle;

import org.jspecify.annotations.NullMarked;
