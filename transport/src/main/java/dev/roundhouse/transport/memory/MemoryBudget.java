package dev.roundhouse.transport.memory;

import org.jspecify.annotations.Nullable;

/** Counts memory for large messages while they arrive, before it is allocated. Thread-safe. */
public interface MemoryBudget {
  /** Without a limit. */
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
   * Takes bytes, before they are allocated.
   *
   * @return null when taken; otherwise the reason, for the client
   */
  @Nullable String take(long bytes);

  void giveBack(long bytes);
}
