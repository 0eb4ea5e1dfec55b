package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.memory.MemoryBudget;
import dev.roundhouse.transport.memory.MemoryRoot;
import io.netty.util.internal.PlatformDependent;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Bounds the bytes that a server holds of all calls that it sends on, and what it has asked their
 * peers to send. As it fills, it is spared for what matters more: first nothing is kept to be sent
 * again, then nobody is asked to send ahead, then no call begins, and the rest is for calls that
 * have begun. Thread-safe.
 */
public final class ForwardingBudget implements MemoryBudget {
  /** What a passage takes at least to get on, and waits for. */
  static final int STEP_BYTES = 1 << 16;

  private static final int PARTS = 8;

  private final long limit;
  private final String remedy;
  private final AtomicLong held = new AtomicLong();
  private final Queue<Runnable> waiting = new ConcurrentLinkedQueue<>();

  /** What memory is taken for, and how many eighths of the limit may then be taken. */
  enum Use {
    /** Parts stay in the buffers that they were received into, which may be four times as large. */
    SLICE(2),
    /** A request is kept to be sent to another server. */
    KEEP(4),
    /** A peer is asked to send much. */
    AHEAD(5),
    /** A call begins. */
    BEGIN(6),
    /** A call that has begun gets on, step by step. */
    GO_ON(7),
    /** What a peer may send without having been asked has come. */
    ARRIVED(8);

    private final int parts;

    Use(int parts) {
      this.parts = parts;
    }
  }

  /**
   * @param remedy what whoever is refused is told to do
   */
  public ForwardingBudget(long limit, String remedy) {
    if (limit < 1) {
      throw new IllegalArgumentException("a limit of " + limit + " bytes is not above 0");
    }
    this.limit = limit;
    this.remedy = remedy;
  }

  /** What this JVM may have of the memory that messages are received into. */
  public static long directBytes() {
    return PlatformDependent.maxDirectMemory();
  }

  public long limit() {
    return limit;
  }

  /** Bytes taken and not given back. */
  public long held() {
    return held.get();
  }

  /** Up to how many bytes may be taken for a use. */
  long limit(Use use) {
    return limit - limit / PARTS * (PARTS - use.parts);
  }

  /** True when nothing more is kept to be sent again: what is not needed should not be begun. */
  public boolean isCrowded() {
    return !hasRoom(Use.KEEP);
  }

  boolean hasRoom(Use use) {
    return held.get() < limit(use);
  }

  /** False, taking none, when they are too many. */
  boolean take(long bytes, Use use) {
    long most = limit(use);
    while (true) {
      long before = held.get();
      if (bytes > most - before) {
        return false;
      }
      if (held.weakCompareAndSetVolatile(before, before + bytes)) {
        return true;
      }
    }
  }

  @Override
  public @Nullable String take(long bytes) {
    return take(bytes, Use.BEGIN) ? null : refusal(bytes, Use.BEGIN);
  }

  /** What calls that the server answers itself are counted by, as those that begin. */
  public MemoryRoot root() {
    return new MemoryRoot() {
      @Override
      public boolean take(long bytes) {
        return ForwardingBudget.this.take(bytes, Use.BEGIN);
      }

      @Override
      public void takeAnyway(long bytes) {
        held.addAndGet(bytes);
      }

      @Override
      public void giveBack(long bytes) {
        ForwardingBudget.this.giveBack(bytes);
      }

      @Override
      public long held() {
        return ForwardingBudget.this.held();
      }

      @Override
      public long limit() {
        return limit;
      }

      @Override
      public String refusal(long bytes) {
        return ForwardingBudget.this.refusal(bytes, Use.BEGIN);
      }

      @Override
      public String remedy() {
        return remedy;
      }
    };
  }

  String refusal(long bytes, Use use) {
    String which = use == Use.BEGIN ? "%d for calls that begin, of %d" : "%d, of %d";
    return "calls that are sent on hold %d bytes, this one needs %d more, and the limit is %s; retry later, or %s"
        .formatted(held.get(), bytes, which.formatted(limit(use), limit), remedy);
  }

  @Override
  public void giveBack(long bytes) {
    long left = held.addAndGet(-bytes);
    if (!waiting.isEmpty() && left + STEP_BYTES <= limit(Use.GO_ON)) {
      wakeNext();
    }
  }

  /** Has a passage be told once there is room for a step; it then wakes the next. */
  void await(Runnable wake) {
    waiting.add(wake);
    if (held.get() + STEP_BYTES <= limit(Use.GO_ON)) {
      wakeNext(); // room has come meanwhile
    }
  }

  /** Whoever awaits room needs none any more. */
  void forget(Runnable wake) {
    waiting.remove(wake);
  }

  /** Whoever was told has what it needs. */
  void wakeNext() {
    Runnable next = waiting.poll();
    if (next != null) {
      next.run();
    }
  }
}
