/**
 * Keeps processes running. The thread {@code supervisor} owns their states; others see snapshots.
 */
@NullMarked
package dev.roundhouse.node.process;

import org.jspecify.annotations.NullMarked;
