package dev.roundhouse.transport.http2;

import dev.roundhouse.transport.memory.MemoryRoot;
import java.util.concurrent.atomic.AtomicLong;

/** Counts, and refuses beyond a limit. Thread-safe. */
public final class CountingRoot implements MemoryRoot {
  public final AtomicLong held = new AtomicLong();
  public final AtomicLong most = new AtomicLong();
  public volatile long limit = Long.MAX_VALUE / 4;

  @Override
  public boolean take(long bytes) {
    if (held.addAndGet(bytes) > limit) {
      held.addAndGet(-bytes);
      return false;
    }
    most.accumulateAndGet(held.get(), Math::max);
    return true;
  }

  @Override
  public void takeAnyway(long bytes) {
    held.addAndGet(bytes);
  }

  @Override
  public void giveBack(long bytes) {
    held.addAndGet(-bytes);
  }

  @Override
  public long held() {
    return held.get();
  }

  @Override
  public long limit() {
    return limit;
  }

  @Override
  public String refusal(long bytes) {
    return "no memory";
  }

  @Override
  public String remedy() {
    return "more memory";
  }
}
