package dev.roundhouse.transport.memory;

import java.util.concurrent.atomic.AtomicLong;

/** A root with a counter of its own, for servers without another. Thread-safe. */
public final class CountedRoot implements MemoryRoot {
  private final AtomicLong held = new AtomicLong();
  private final long limit;
  private final String remedy;

  /**
   * @param limit in bytes
   * @param remedy advice for clients that are refused
   */
  public CountedRoot(long limit, String remedy) {
    this.limit = limit;
    this.remedy = remedy;
  }

  @Override
  public boolean take(long bytes) {
    if (held.addAndGet(bytes) <= limit) {
      return true;
    }
    held.addAndGet(-bytes);
    return false;
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
    return "peers hold %d bytes, this one needs %d more, and the limit is %d; retry later, or %s"
        .formatted(held(), bytes, limit, remedy);
  }

  @Override
  public String remedy() {
    return remedy;
  }
}
