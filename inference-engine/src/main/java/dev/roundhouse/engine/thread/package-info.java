/** Which thread some state belongs to, and the check of that; threads for the code of others. */
@NullMarked
package dev.roundhouse.engine.thread;

import org.jspecify.annotations.NullMarked;
