/**
 * How applications log: {@code logging.yaml} is what each begins with, and a worker's clients may
 * change some of it while it runs. Knows Logback, which nothing else here does.
 */
@NullMarked
package dev.roundhouse.platform.logging;

import org.jspecify.annotations.NullMarked;
