package dev.roundhouse.grpc.memory;

import java.util.concurrent.atomic.AtomicLong;

/** What all connections of one address hold. Thread-safe. */
final class Peer {
  private final Object address;
  private final AtomicLong standing = new AtomicLong();
  private final AtomicLong passing = new AtomicLong();

  /** Connections that are open. Of whoever computes the peer's entry in the account's map. */
  int connections;

  Peer(Object address) {
    this.address = address;
  }

  Object address() {
    return address;
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
