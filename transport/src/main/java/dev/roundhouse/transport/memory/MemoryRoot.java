package dev.roundhouse.transport.memory;

/**
 * The limit that requests and answers share with whatever else the process counts there.
 * Thread-safe.
 */
public interface MemoryRoot {

  /** Takes bytes; false, taking none, beyond the limit. */
  boolean take(long bytes);

  /** Takes bytes even beyond the limit. */
  void takeAnyway(long bytes);

  void giveBack(long bytes);

  /** Bytes taken and not given back, of all users. */
  long held();

  /** In bytes. */
  long limit();

  /** Why this many bytes were refused, and what to do; for the client. */
  String refusal(long bytes);

  /** What the operator can change, told to clients that are refused. */
  String remedy();

  /** Bytes that connections and calls may hold at the smallest limit. */
  default long leastStandingBytes() {
    return 4 << 20;
  }
}
