/** The gateway's settings, under {@code roundhouse.gateway}. */
@NullMarked
package dev.roundhouse.gateway.config;

import org.jspecify.annotations.NullMarked;
