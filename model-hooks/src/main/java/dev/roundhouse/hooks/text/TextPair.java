package dev.roundhouse.hooks.text;

/** Two texts that a model reads together: a question and a passage, a premise and a hypothesis. */
public record TextPair(String first, String second) {}
