/** Puts the node together; the only room that knows all others. */
@NullMarked
package dev.roundhouse.node.wiring;

import org.jspecify.annotations.NullMarked;
