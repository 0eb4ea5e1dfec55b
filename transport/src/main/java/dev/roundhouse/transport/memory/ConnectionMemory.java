package dev.roundhouse.transport.memory;

import io.grpc.Attributes;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Memory held for one connection. It is reserved from the account in blocks, so that small and
 * short-lived allocations do not contend with other connections. What is still held when the
 * connection closes stays counted until it is given back. Thread-safe.
 */
public final class ConnectionMemory {
  /** Key of a connection's memory in the attributes of its calls. */
  public static final Attributes.Key<ConnectionMemory> KEY =
      Attributes.Key.create("dev.roundhouse.connection-memory");

  private static final long BLOCK_BYTES = 16 << 10;

  private final PeerMemory account;
  private final Peer peer;
  private final Runnable relief;
  private final Part standing = new Part(true);
  private final Part passing = new Part(false);

  /** Bytes counted for the connection itself. Set by the thread that opens it. */
  private long own;

  private volatile boolean closed;

  ConnectionMemory(PeerMemory account, Peer peer, Runnable relief) {
    this.account = account;
    this.peer = peer;
    this.relief = relief;
  }

  /**
   * Takes bytes, before they are allocated.
   *
   * @return null when taken; otherwise the reason, for the client
   */
  public @Nullable String take(Kept kind, long bytes) {
    String refusal = part(kind).take(bytes);
    if (refusal == null) {
      account.count(kind, bytes);
    } else {
      account.refused(kind);
    }
    return refusal;
  }

  /** Takes bytes even beyond the limit. */
  public void add(Kept kind, long bytes) {
    part(kind).add(bytes);
    account.count(kind, bytes);
  }

  public void giveBack(Kept kind, long bytes) {
    account.count(kind, -bytes);
    part(kind).giveBack(bytes);
  }

  /**
   * Counts bytes towards the peer's share only: the root counts them already, as those that a
   * gateway forwards. Undone by {@link #discharge}.
   */
  public void charge(Kept kind, long bytes) {
    peer.take(bytes, kind.isStanding(), Long.MAX_VALUE);
    account.count(kind, bytes);
  }

  /** Gives back bytes counted by {@link #charge}. */
  public void discharge(Kept kind, long bytes) {
    account.count(kind, -bytes);
    peer.giveBack(bytes, kind.isStanding());
  }

  /** True while the peer may hold this many more bytes of requests and answers. */
  public boolean hasShare(long bytes) {
    return account.hasShare(peer, bytes, false);
  }

  /** Why the peer may not hold this many more bytes of requests and answers; null if it may. */
  public @Nullable String overShare(long bytes) {
    return account.overShare(peer, bytes, false);
  }

  /** The memory of one kind. */
  public MemoryBudget of(Kept kind) {
    return new MemoryBudget() {
      @Override
      public @Nullable String take(long bytes) {
        return ConnectionMemory.this.take(kind, bytes);
      }

      @Override
      public void giveBack(long bytes) {
        ConnectionMemory.this.giveBack(kind, bytes);
      }
    };
  }

  /** Bytes held. */
  public long held() {
    return standing.held.get() + passing.held.get();
  }

  /** Identifies the peer, for fair shares of other resources. */
  public Object peer() {
    return peer;
  }

  /**
   * A positive number that tells other servers which peer this is. Two peers may share a number.
   */
  public int peerNumber() {
    return peer.number();
  }

  /** True while others need memory: what makes no progress should end soon. */
  public boolean isPressed() {
    return account.isPressed();
  }

  void relieve() {
    relief.run();
  }

  /** Counts the connection itself; false when there is no room for it. */
  boolean begin(long bytes) {
    boolean taken = take(Kept.CONNECTION, bytes) == null;
    own = taken ? bytes : 0;
    return taken;
  }

  /** The connection has closed; no effect the second time. */
  public void close() {
    if (closed) {
      return;
    }
    closed = true;
    giveBack(Kept.CONNECTION, own);
    passing.trim();
    account.closed(this, peer);
  }

  private Part part(Kept kind) {
    return kind.isStanding() ? standing : passing;
  }

  /** Memory that is standing, or that is not; see {@link Kept#isStanding}. */
  private final class Part {
    private final boolean isStanding;
    private final AtomicLong held = new AtomicLong();

    /** Bytes reserved from the account; written under this lock. */
    private volatile long reserved;

    Part(boolean isStanding) {
      this.isStanding = isStanding;
    }

    @Nullable String take(long bytes) {
      return held.addAndGet(bytes) <= reserved ? null : reserve(bytes);
    }

    private synchronized @Nullable String reserve(long bytes) {
      long needed = held.get() - reserved;
      if (needed <= 0) {
        return null;
      }
      long block = closed ? needed : (needed + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
      String refusal = reserve(bytes, block);
      if (refusal != null && block > needed) {
        refusal = reserve(bytes, needed);
      }
      if (refusal != null) {
        held.addAndGet(-bytes);
      }
      return refusal;
    }

    private @Nullable String reserve(long bytes, long more) {
      long limit = account.connectionLimit(isStanding);
      if (reserved + more > limit) {
        return "the connection holds %d bytes%s, this one needs %d more, and one connection may hold %d; end what is not used, retry later, or %s"
            .formatted(
                held.get() - bytes, isStanding ? " of calls" : "", bytes, limit, account.remedy());
      }
      boolean isModest = PeerMemory.isModest(reserved + more, isStanding);
      String refusal = account.reserve(ConnectionMemory.this, peer, more, isStanding, isModest);
      reserved += refusal == null ? more : 0;
      return refusal;
    }

    void add(long bytes) {
      if (held.addAndGet(bytes) > reserved) {
        reserveAnyway();
      }
    }

    private synchronized void reserveAnyway() {
      long needed = held.get() - reserved;
      if (needed > 0) {
        account.reserveAnyway(peer, needed, isStanding);
        reserved += needed;
      }
    }

    void giveBack(long bytes) {
      long left = held.addAndGet(-bytes);
      long spare = reserved - left;
      boolean isEmpty = left == 0 && !isStanding;
      if (closed || isEmpty || (spare > 2 * BLOCK_BYTES && spare > left)) {
        trim();
      }
    }

    /** Gives back unused reservations, except one block while more may follow. */
    synchronized void trim() {
      long now = held.get();
      boolean isOver = closed || (now == 0 && !isStanding);
      long spare = reserved - now - (isOver ? 0 : BLOCK_BYTES);
      if (spare > 0) {
        reserved -= spare;
        account.release(peer, spare, isStanding);
        reserveAnyway(); // another thread may have taken some of it meanwhile
      }
      if (closed && reserved == 0) {
        account.emptied(peer);
      }
    }
  }
}
