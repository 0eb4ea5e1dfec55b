/** Which thread some state belongs to, and the check of that. */
@NullMarked
package dev.roundhouse.engine.thread;

import org.jspecify.annotations.NullMarked;
