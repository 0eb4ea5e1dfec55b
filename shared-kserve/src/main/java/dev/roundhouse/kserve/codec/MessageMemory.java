package dev.roundhouse.kserve.codec;

/**
 * The memory that a message's raw tensors lie in. The receiver of the message holds it until the
 * message is processed; longer users of the tensors hold it too. Thread-safe.
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
