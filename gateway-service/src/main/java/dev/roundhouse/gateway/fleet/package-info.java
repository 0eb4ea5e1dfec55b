/** The workers as they were last seen: who is ready, who has which models, and what those cost. */
@NullMarked
package dev.roundhouse.gateway.fleet;

import org.jspecify.annotations.NullMarked;
