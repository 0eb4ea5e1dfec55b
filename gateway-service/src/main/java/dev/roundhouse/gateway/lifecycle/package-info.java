/** Whether the gateway says that it is ready, what it shows of its workers, and how it fails. */
@NullMarked
package dev.roundhouse.gateway.lifecycle;

import org.jspecify.annotations.NullMarked;
