/** When a call that failed is made again: arithmetic, without a clock, a thread or a connection. */
@NullMarked
package dev.roundhouse.client.retry;

import org.jspecify.annotations.NullMarked;
