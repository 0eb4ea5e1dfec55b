package dev.roundhouse.worker.page;

/**
 * Whether the worker takes work.
 *
 * @param ready what it says to whoever asks
 * @param draining whether an operator has it turn new work away
 */
record Serving(boolean ready, boolean draining) {}
