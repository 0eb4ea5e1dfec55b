package dev.roundhouse.transport.memory;

import java.security.SecureRandom;
import java.util.concurrent.atomic.AtomicLong;

/** What all connections of one address hold. Thread-safe. */
final class Peer {
  /** Spreads addresses so that nobody can choose whose number is theirs too. */
  private static final int SALT = new SecureRandom().nextInt();

  private final Object address;
  private final int number;
  private final AtomicLong standing = new AtomicLong();
  private final AtomicLong passing = new AtomicLong();

  /** Connections that are open. Of whoever computes the peer's entry in the account's map. */
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

  /** Above 0; the same for the same address as long as the process runs. */
  static int number(Object address) {
    return Math.max(1, ((address.hashCode() ^ SALT) * 0x9E37_79B9) >>> 1);
  }

  /** False, taking none, when the peer would hold more than so many. */
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
