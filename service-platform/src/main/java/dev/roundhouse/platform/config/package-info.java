/**
 * Settings: keys that nobody reads are refused, values have bounds, and a start that is refused
 * says what to change.
 */
@NullMarked
package dev.roundhouse.platform.config;

import org.jspecify.annotations.NullMarked;
