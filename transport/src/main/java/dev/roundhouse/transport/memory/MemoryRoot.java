package dev.roundhouse.transport.memory;

/**
 * What the memory of requests and answers is taken from, together with what others count there.
 * Thread-safe.
 */
public interface MemoryRoot {

  /** Takes bytes; false, taking none, when that would be more than may be held. */
  boolean take(long bytes);

  /** Takes bytes that are kept whatever the limit is. */
  void takeAnyway(long bytes);

  void giveBack(long bytes);

  /** Bytes taken and not given back, by whomever. */
  long held();

  /** Bytes that may be held. */
  long limit();

  /** Why so many bytes were not taken, and what to do; for the client. */
  String refusal(long bytes);

  /** What whoever is refused can have the operator do. */
  String remedy();

  /** Bytes that connections and calls may have however small the limit is. */
  default long leastStandingBytes() {
    return 4 << 20;
  }
}
