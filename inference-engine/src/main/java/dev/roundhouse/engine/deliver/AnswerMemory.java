package dev.roundhouse.engine.deliver;

/** Memory that an answer lies in. Belongs to the answer, which gives it back once; any thread. */
interface AnswerMemory {
  void giveBack();
}
