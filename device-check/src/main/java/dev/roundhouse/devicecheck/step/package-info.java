/** The steps of a check, one class each; each runs in a separate process, on one thread. */
@NullMarked
package dev.roundhouse.devicecheck.step;

import org.jspecify.annotations.NullMarked;
