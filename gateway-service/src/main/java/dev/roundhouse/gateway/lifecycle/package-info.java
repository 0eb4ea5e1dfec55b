/** Whether the gateway says that it is ready, and what it shows of its workers. */
@NullMarked
package dev.roundhouse.gateway.lifecycle;

import org.jspecify.annotations.NullMarked;
