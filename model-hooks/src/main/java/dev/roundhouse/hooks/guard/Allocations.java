package dev.roundhouse.hooks.guard;

import org.jspecify.annotations.Nullable;

/**
 * What a bundle's classes tell before they allocate, so that no hook fills the heap that all models
 * share. What they have the JDK allocate is not told.
 */
public final class Allocations {
  /** Of an object, and of an array beside its elements: at least. */
  private static final int HEADER_BYTES = 16;

  private static final ThreadLocal<@Nullable Account> CURRENT = new ThreadLocal<>();

  private Allocations() {}

  /** What a thread may allocate; used by that thread alone. */
  public interface Account {
    /** Notes bytes that are about to be allocated; throws when they must not be. */
    void take(long bytes);
  }

  /** Counts what the calling thread allocates from now on; null to count nothing. */
  public static void count(@Nullable Account account) {
    if (account == null) {
      CURRENT.remove();
    } else {
      CURRENT.set(account);
    }
  }

  /** An object is about to be made. */
  public static void object() {
    take(HEADER_BYTES);
  }

  /** An array is about to be made; lengths below 0 throw where it is. */
  public static void array(int length, int elementBytes) {
    take(HEADER_BYTES + (long) length * elementBytes);
  }

  /** An array of arrays is about to be made, of so many elements in all. */
  public static void arrays(double elements, int elementBytes) {
    take((long) Math.min(elements * (elementBytes + HEADER_BYTES), Long.MAX_VALUE / 2.0));
  }

  private static void take(long bytes) {
    Account account = CURRENT.get();
    if (account != null && bytes > 0) {
      account.take(bytes);
    }
  }
}
