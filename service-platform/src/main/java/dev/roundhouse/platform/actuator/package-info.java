/** What every application's management port has. */
@NullMarked
package dev.roundhouse.platform.actuator;

import org.jspecify.annotations.NullMarked;
