package dev.roundhouse.kserve.codec;

/**
 * The memory that a message's raw tensors lie in. Whoever received the message holds it until the
 * message has been taken note of; whoever uses the tensors longer holds it too. Thread-safe.
 */
public interface MessageMemory {
  /** Freed by the collector. */
  MessageMemory COLLECTED =
      new MessageMemory() {
        @Override
        public void hold() {}

        @Override
        public void release() {}
      };

  /** Keeps the memory until {@link #release} has been called as often. */
  void hold();

  void release();
}
