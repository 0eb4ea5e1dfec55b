package dev.roundhouse.engine.queue;

/**
 * Memory that an answer lies in. Belongs to the answer, which gives it back once, on any thread.
 */
@FunctionalInterface
public interface AnswerMemory {
  void giveBack();
}
