package dev.roundhouse.transport.memory;

import java.security.SecureRandom;
import java.util.concurrent.atomic.AtomicLong;

/** Memory held for all connections of one address. Thread-safe. */
final class Peer {
  /** Random, so that nobody can choose an address that shares a given number. */
  private static final int SALT = new SecureRandom().nextInt();

  private final Object address;
  private final int number;
  private final AtomicLong standing = new AtomicLong();
  private final AtomicLong passing = new AtomicLong();

  /** Open connections. Changed only while the account's map computes the peer's entry. */
  int connections;

  Peer(Object address) {
    this.address = address;
    number = number(address);
  }

  Object address() {
    return address;
  }

  int number() {
    return number;
  }

  /** Positive; the same for an address as long as the process runs. */
  static int number(Object address) {
    return Math.max(1, ((address.hashCode() ^ SALT) * 0x9E37_79B9) >>> 1);
  }

  /** Takes bytes; false, taking none, when the peer would hold more than {@code most}. */
  boolean take(long bytes, boolean isStanding, long most) {
    AtomicLong held = isStanding ? standing : passing;
    if (held.addAndGet(bytes) <= most) {
      return true;
    }
    held.addAndGet(-bytes);
    return false;
  }

  void giveBack(long bytes, boolean isStanding) {
    (isStanding ? standing : passing).addAndGet(-bytes);
  }

  long held(boolean isStanding) {
    return (isStanding ? standing : passing).get();
  }
}
