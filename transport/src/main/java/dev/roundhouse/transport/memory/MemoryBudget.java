package dev.roundhouse.transport.memory;

import org.jspecify.annotations.Nullable;

/**
 * Where memory for large messages is counted before it is taken, while they arrive. Thread-safe.
 */
public interface MemoryBudget {
  /** One that allows everything. */
  MemoryBudget UNLIMITED =
      new MemoryBudget() {
        @Override
        public @Nullable String take(long bytes) {
          return null;
        }

        @Override
        public void giveBack(long bytes) {}
      };

  /**
   * Takes bytes that are about to be allocated.
   *
   * @return null when they were taken; otherwise why not, for the client
   */
  @Nullable String take(long bytes);

  void giveBack(long bytes);
}
