/**
 * When models are placed anew and by which policy, which operators may change while the gateway
 * runs.
 */
@NullMarked
package dev.roundhouse.gateway.schedule;

import org.jspecify.annotations.NullMarked;
