package dev.roundhouse.grpc;

import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** Counts, and refuses beyond a limit. Thread-safe. */
final class CountingBudget implements MemoryBudget {
  final AtomicLong held = new AtomicLong();
  final AtomicLong most = new AtomicLong();
  volatile long limit = Long.MAX_VALUE;

  @Override
  public @Nullable String take(long bytes) {
    if (held.addAndGet(bytes) > limit) {
      held.addAndGet(-bytes);
      return "no memory";
    }
    most.accumulateAndGet(held.get(), Math::max);
    return null;
  }

  @Override
  public void giveBack(long bytes) {
    held.addAndGet(-bytes);
  }
}
