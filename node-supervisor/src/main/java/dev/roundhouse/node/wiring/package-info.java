/** Wires the node; the only package that knows all others. */
@NullMarked
package dev.roundhouse.node.wiring;

import org.jspecify.annotations.NullMarked;
