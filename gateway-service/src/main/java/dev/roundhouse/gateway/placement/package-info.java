/**
 * Which workers serve which models: pure functions over what was measured, without threads, clocks
 * or connections. Gateways that have seen the same come to the same placement.
 */
@NullMarked
package dev.roundhouse.gateway.placement;

import org.jspecify.annotations.NullMarked;
