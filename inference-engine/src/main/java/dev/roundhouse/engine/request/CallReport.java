package dev.roundhouse.engine.request;

/**
 * A call of another model, or of its own programs, that a request's model made to answer it. Times
 * are on the engine's clock.
 *
 * @param model that was called
 */
public record CallReport(String model, Outcome outcome, long startNanos, long endNanos) {}
