package dev.roundhouse.transport.memory;

import io.grpc.Attributes;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * What one connection holds. It reserves blocks of the account, so that small things that come and
 * go touch nothing that connections share. What is still held when it is closed stays counted until
 * it is given back. Thread-safe.
 */
public final class ConnectionMemory {
  /** Of a call's attributes. */
  public static final Attributes.Key<ConnectionMemory> KEY =
      Attributes.Key.create("dev.roundhouse.connection-memory");

  private static final long BLOCK_BYTES = 16 << 10;

  private final PeerMemory account;
  private final Peer peer;
  private final Runnable relief;
  private final Part standing = new Part(true);
  private final Part passing = new Part(false);

  /** What it takes without any call; of who opens and closes it. */
  private long own;

  private volatile boolean closed;

  ConnectionMemory(PeerMemory account, Peer peer, Runnable relief) {
    this.account = account;
    this.peer = peer;
    this.relief = relief;
  }

  /**
   * Takes bytes that are about to be kept.
   *
   * @return null when they were taken; otherwise why not, for the client
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

  /** Counts bytes that are kept whatever the limit is. */
  public void add(Kept kind, long bytes) {
    part(kind).add(bytes);
    account.count(kind, bytes);
  }

  public void giveBack(Kept kind, long bytes) {
    account.count(kind, -bytes);
    part(kind).giveBack(bytes);
  }

  /**
   * Counts bytes as the peer's that the root has counted already, as what passes through a gateway;
   * to be followed by {@link #disown}.
   */
  public void own(Kept kind, long bytes) {
    peer.take(bytes, kind.isStanding(), Long.MAX_VALUE);
    account.count(kind, bytes);
  }

  /** What was counted by {@link #own} is let go. */
  public void disown(Kept kind, long bytes) {
    account.count(kind, -bytes);
    peer.giveBack(bytes, kind.isStanding());
  }

  /** True when the peer may have so many bytes more of requests and answers. */
  public boolean hasShare(long bytes) {
    return account.hasShare(peer, bytes, false);
  }

  /** Why the peer may have no more requests or answers here; null while it may. */
  public @Nullable String overShare(long bytes) {
    return account.overShare(peer, bytes, false);
  }

  /** The same for one kind. */
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

  /** Bytes that it holds. */
  public long held() {
    return standing.held.get() + passing.held.get();
  }

  /** Whose connection it is, as far as shares of anything go. */
  public Object peer() {
    return peer;
  }

  /**
   * Whose connection it is, as a number above 0, to be told to another server: that of {@link
   * #peer}, and perhaps of another.
   */
  public int peerNumber() {
    return peer.number();
  }

  /** True while others need room: what does not get on should be ended soon. */
  public boolean isPressed() {
    return account.isPressed();
  }

  void relieve() {
    relief.run();
  }

  /** False when there is no room for the connection itself. */
  boolean begin(long bytes) {
    boolean taken = take(Kept.CONNECTION, bytes) == null;
    own = taken ? bytes : 0;
    return taken;
  }

  /** The connection is gone. */
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

  /** Either of the two kinds of memory. */
  private final class Part {
    private final boolean isStanding;
    private final AtomicLong held = new AtomicLong();

    /** Taken from the account; written under the lock. */
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

    /** Gives back what is reserved beyond what is held, but for a block while there may be more. */
    synchronized void trim() {
      long now = held.get();
      boolean isOver = closed || (now == 0 && !isStanding);
      long spare = reserved - now - (isOver ? 0 : BLOCK_BYTES);
      if (spare > 0) {
        reserved -= spare;
        account.release(peer, spare, isStanding);
        reserveAnyway(); // somebody may have taken of it meanwhile
      }
      if (closed && reserved == 0) {
        account.emptied(peer);
      }
    }
  }
}
