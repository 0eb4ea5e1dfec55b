/**
 * Processes that are kept running. The thread {@code supervisor} owns their states; what others see
 * are snapshots.
 */
@NullMarked
package dev.roundhouse.node.process;

import org.jspecify.annotations.NullMarked;
