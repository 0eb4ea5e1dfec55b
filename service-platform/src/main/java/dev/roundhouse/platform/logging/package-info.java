/**
 * What the worker logs of its own, and how, as clients may change it while it runs. Knows Logback,
 * which nothing else here does.
 */
@NullMarked
package dev.roundhouse.platform.logging;

import org.jspecify.annotations.NullMarked;
