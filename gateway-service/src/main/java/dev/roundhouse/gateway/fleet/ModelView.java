package dev.roundhouse.gateway.fleet;

/**
 * A model as one worker last told of it.
 *
 * @param ready whether it takes requests
 * @param resident whether its weights are on the device
 * @param loadNanos that bringing them takes; 0 when that is not known
 */
public record ModelView(boolean ready, boolean resident, long loadNanos) {}
