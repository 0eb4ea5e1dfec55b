/** What ties an application to the process that started it, and what its own leaves behind. */
@NullMarked
package dev.roundhouse.platform.process;

import org.jspecify.annotations.NullMarked;
