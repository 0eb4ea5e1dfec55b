/** When a failed call is retried: arithmetic, without a clock, a thread or a connection. */
@NullMarked
package dev.roundhouse.client.retry;

import org.jspecify.annotations.NullMarked;
