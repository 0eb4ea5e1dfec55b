/** What the gateway is made of, by its settings. */
@NullMarked
package dev.roundhouse.gateway.wiring;

import org.jspecify.annotations.NullMarked;
