/** When an application says that it is ready. */
@NullMarked
package dev.roundhouse.platform.lifecycle;

import org.jspecify.annotations.NullMarked;
