package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.memory.MemoryBudget;
import dev.roundhouse.transport.memory.MemoryRoot;
import io.netty.util.internal.PlatformDependent;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Bounds the bytes held for all forwarded calls, and what their peers were asked to send. As it
 * fills, it is reserved for what matters more: first nothing is kept for resending, then no peer is
 * asked to send ahead, then no call begins, and the rest is for calls in progress. Thread-safe.
 */
public final class ForwardingBudget implements MemoryBudget {
  /** The least that a passage needs to progress, and waits for. */
  static final int STEP_BYTES = 1 << 16;

  private static final int PARTS = 8;

  private final long limit;
  private final String remedy;
  private final AtomicLong held = new AtomicLong();
  private final Queue<Runnable> waiting = new ConcurrentLinkedQueue<>();

  /** What memory is taken for, and how many eighths of the limit may be taken for it. */
  enum Use {
    /** Parts stay in their read buffers, which may be four times as large. */
    SLICE(2),
    /** A request is kept for resending. */
    KEEP(4),
    /** A peer is asked to send much. */
    AHEAD(5),
    /** A call begins. */
    BEGIN(6),
    /** A call in progress continues, step by step. */
    GO_ON(7),
    /** Data has arrived that a peer may send unasked. */
    ARRIVED(8);

    private final int parts;

    Use(int parts) {
      this.parts = parts;
    }
  }

  /**
   * @param remedy advice for those refused
   */
  public ForwardingBudget(long limit, String remedy) {
    if (limit < 1) {
      throw new IllegalArgumentException("a limit of " + limit + " bytes is not above 0");
    }
    this.limit = limit;
    this.remedy = remedy;
  }

  /** The direct memory that this JVM may use for received messages. */
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

  /** How many bytes may be held for a use to be granted. */
  long limit(Use use) {
    return limit - limit / PARTS * (PARTS - use.parts);
  }

  /** True when nothing more is kept for resending: optional work should not begin. */
  public boolean isCrowded() {
    return !hasRoom(Use.KEEP);
  }

  boolean hasRoom(Use use) {
    return held.get() < limit(use);
  }

  /** False, taking nothing, when there is no room. */
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

  /** Counts calls that the server answers itself, like those that begin. */
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

  /** Wakes a passage once there is room for a step; it then wakes the next. */
  void await(Runnable wake) {
    waiting.add(wake);
    if (held.get() + STEP_BYTES <= limit(Use.GO_ON)) {
      wakeNext(); // room has come meanwhile
    }
  }

  /** A waiting passage needs no room any more. */
  void forget(Runnable wake) {
    waiting.remove(wake);
  }

  /** A passage that was woken has what it needs. */
  void wakeNext() {
    Runnable next = waiting.poll();
    if (next != null) {
      next.run();
    }
  }
}
