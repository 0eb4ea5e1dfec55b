/** When an application says that it is ready, and how one ends that cannot answer any more. */
@NullMarked
package dev.roundhouse.platform.lifecycle;

import org.jspecify.annotations.NullMarked;
