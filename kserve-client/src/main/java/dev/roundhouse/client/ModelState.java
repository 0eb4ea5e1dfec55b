package dev.roundhouse.client;

/**
 * A version of a model in a server's repository.
 *
 * @param version empty when never loaded
 * @param state such as {@code READY}; empty when it was never loaded
 * @param reason why it is in that state; may be empty
 */
public record ModelState(String name, String version, String state, String reason) {}
