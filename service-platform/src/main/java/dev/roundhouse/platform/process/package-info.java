/** What ties an application to the process that started it. */
@NullMarked
package dev.roundhouse.platform.process;

import org.jspecify.annotations.NullMarked;
