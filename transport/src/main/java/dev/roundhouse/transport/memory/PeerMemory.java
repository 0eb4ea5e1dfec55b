package dev.roundhouse.transport.memory;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Counts all memory, heap and direct, that a server holds for its peers.
 *
 * <p>Requests and answers are taken from the root, which others use too. Standing state
 * (connections and calls) has a limit of its own, a quarter of the root's, so that small calls get
 * through when requests fill the root. One address may hold three quarters of each, and one
 * connection half of the standing state. Another eighth is reserved for connections that hold next
 * to nothing, for those that share their address with a greedy one.
 *
 * <p>A peer is an address; for IPv6, a network of 64 bits. When a connection is refused because of
 * what others hold, the largest are asked to end what makes no progress ({@link
 * ConnectionMemory#isPressed}). Thread-safe.
 */
public final class PeerMemory {
  /** Between two searches for the largest. */
  private static final long RELIEF_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  /** How long after a refusal connections look for what makes no progress. */
  private static final long PRESSURE_NANOS = TimeUnit.SECONDS.toNanos(10);

  private static final int RESERVE_PART = 8;

  /** Standing state may hold this part of the root's limit, besides it. */
  private static final int STANDING_PART = 4;

  /** Up to this, a connection holds next to nothing. */
  private static final long MODEST_STANDING_BYTES = 64 << 10;

  private static final long MODEST_PASSING_BYTES = 256 << 10;

  private static final int MOST_RELIEVED = 64;
  private static final int NETWORK_BYTES = 8;

  private final MemoryRoot root;
  private final LongSupplier nanoTime;
  private final Map<Object, Peer> peers = new ConcurrentHashMap<>();
  private final Set<ConnectionMemory> connections = ConcurrentHashMap.newKeySet();

  /** By the ordinal of the kind. */
  private final LongAdder[] held = new LongAdder[Kept.values().length];

  private final LongAdder[] refused = new LongAdder[Kept.values().length];
  private final LongAdder relieved = new LongAdder();

  /** Blocks of standing state that connections have reserved. */
  private final AtomicLong standing = new AtomicLong();

  private final AtomicLong lastRelief;
  private volatile long pressedUntil;

  public PeerMemory(MemoryRoot root) {
    this(root, System::nanoTime);
  }

  PeerMemory(MemoryRoot root, LongSupplier nanoTime) {
    this.root = root;
    this.nanoTime = nanoTime;
    long now = nanoTime.getAsLong();
    lastRelief = new AtomicLong(now - RELIEF_NANOS);
    pressedUntil = now;
    Arrays.setAll(held, kind -> new LongAdder());
    Arrays.setAll(refused, kind -> new LongAdder());
  }

  /** Counts without a limit. */
  public static PeerMemory unlimited() {
    return new PeerMemory(new CountedRoot(Long.MAX_VALUE / 4, "give the server a limit"));
  }

  /**
   * Counts a connection that has been accepted.
   *
   * @param bytes of the connection itself
   * @param relief called, on any thread, when the connection is to end what makes no progress
   * @return null when there is no room for it
   */
  public @Nullable ConnectionMemory open(SocketAddress address, long bytes, Runnable relief) {
    Peer peer =
        peers.compute(
            key(address),
            (key, known) -> {
              Peer counted = known == null ? new Peer(key) : known;
              counted.connections++;
              return counted;
            });
    ConnectionMemory opened = new ConnectionMemory(this, peer, relief);
    connections.add(opened);
    if (opened.begin(bytes)) {
      return opened;
    }
    opened.close();
    return null;
  }

  /** The {@link ConnectionMemory#peerNumber} of connections from an address. */
  public static int peerNumber(SocketAddress address) {
    return Peer.number(key(address));
  }

  private static Object key(SocketAddress address) {
    if (!(address instanceof InetSocketAddress inet) || inet.getAddress() == null) {
      return "local";
    }
    InetAddress known = inet.getAddress();
    return known instanceof Inet6Address
        ? ByteBuffer.wrap(known.getAddress(), 0, NETWORK_BYTES).slice()
        : known;
  }

  // What is held.

  /** Bytes of a kind that connections hold. */
  public long held(Kept kind) {
    return held[kind.ordinal()].sum();
  }

  /** All bytes held, including what others take from the root. */
  public long held() {
    return root.held() + standing.get();
  }

  /** All bytes that may be held. */
  public long limit() {
    return root.limit() + standingLimit();
  }

  /** Refusals of a kind since the start. */
  public long refusedEver(Kept kind) {
    return refused[kind.ordinal()].sum();
  }

  /** How often a connection was asked to end what makes no progress, since the start. */
  public long relievedEver() {
    return relieved.sum();
  }

  // For connections.

  void count(Kept kind, long bytes) {
    held[kind.ordinal()].add(bytes);
  }

  long connectionLimit(boolean isStanding) {
    return isStanding ? standingLimit() / 2 : peerLimit(false);
  }

  long peerLimit(boolean isStanding) {
    long whole = isStanding ? standingLimit() : root.limit();
    return whole - whole / 4;
  }

  private long peerLimit(boolean isStanding, boolean isModest) {
    long whole = isStanding ? standingLimit() : root.limit();
    return peerLimit(isStanding) + (isModest ? whole / RESERVE_PART : 0);
  }

  static boolean isModest(long bytes, boolean isStanding) {
    return bytes <= (isStanding ? MODEST_STANDING_BYTES : MODEST_PASSING_BYTES);
  }

  /** Bytes that connections and calls may hold. */
  public long standingLimit() {
    return Math.max(root.leastStandingBytes(), root.limit() / STANDING_PART);
  }

  /**
   * Takes bytes for a connection of a peer.
   *
   * @param isModest whether the connection will then hold next to nothing
   * @return null when taken; otherwise the reason
   */
  @Nullable String reserve(
      ConnectionMemory of, Peer peer, long bytes, boolean isStanding, boolean isModest) {
    if (!peer.take(bytes, isStanding, peerLimit(isStanding, isModest))) {
      relieve(of);
      return overShareText(peer, bytes, isStanding);
    }
    boolean taken = isStanding ? takeStanding(bytes, isModest) : root.take(bytes);
    if (taken) {
      return null;
    }
    peer.giveBack(bytes, isStanding);
    relieve(of);
    return isStanding
        ? "connections and calls hold %d bytes, this one needs %d more, and they may hold %d; retry later, or %s"
            .formatted(standing.get(), bytes, standingLimit(), root.remedy())
        : root.refusal(bytes);
  }

  boolean hasShare(Peer peer, long bytes, boolean isStanding) {
    return peer.held(isStanding) + bytes <= peerLimit(isStanding);
  }

  @Nullable String overShare(Peer peer, long bytes, boolean isStanding) {
    return hasShare(peer, bytes, isStanding) ? null : overShareText(peer, bytes, isStanding);
  }

  private String overShareText(Peer peer, long bytes, boolean isStanding) {
    return "the connections of %s hold %d bytes%s, this one needs %d more, and one address may hold %d; end what is not used, retry later, or %s"
        .formatted(
            text(peer),
            peer.held(isStanding),
            isStanding ? " of connections and calls" : "",
            bytes,
            peerLimit(isStanding),
            root.remedy());
  }

  String remedy() {
    return root.remedy();
  }

  private static String text(Peer peer) {
    return peer.address() instanceof InetAddress known
        ? known.getHostAddress()
        : "the caller's network";
  }

  private boolean takeStanding(long bytes, boolean isModest) {
    long reserve = isModest ? standingLimit() / RESERVE_PART : 0;
    if (standing.addAndGet(bytes) <= standingLimit() + reserve) {
      return true;
    }
    standing.addAndGet(-bytes);
    return false;
  }

  /** Takes bytes that are already held. */
  void reserveAnyway(Peer peer, long bytes, boolean isStanding) {
    peer.take(bytes, isStanding, Long.MAX_VALUE);
    if (isStanding) {
      standing.addAndGet(bytes);
    } else {
      root.takeAnyway(bytes);
    }
  }

  void release(Peer peer, long bytes, boolean isStanding) {
    if (isStanding) {
      standing.addAndGet(-bytes);
    } else {
      root.giveBack(bytes);
    }
    peer.giveBack(bytes, isStanding);
  }

  void refused(Kept kind) {
    refused[kind.ordinal()].increment();
  }

  void closed(ConnectionMemory connection, Peer peer) {
    connections.remove(connection);
    peers.computeIfPresent(
        peer.address(),
        (key, known) -> {
          known.connections -= known == peer ? 1 : 0;
          return isForgotten(known) ? null : known;
        });
  }

  /** A closed connection has given back all that it held. */
  void emptied(Peer peer) {
    peers.computeIfPresent(peer.address(), (key, known) -> isForgotten(known) ? null : known);
  }

  private static boolean isForgotten(Peer peer) {
    return peer.connections == 0 && peer.held(true) == 0 && peer.held(false) == 0;
  }

  // Relief.

  /** True while a connection needs memory that others hold. */
  boolean isPressed() {
    return pressedUntil - nanoTime.getAsLong() > 0;
  }

  /** Asks the largest connections to end what makes no progress. */
  private void relieve(ConnectionMemory refused) {
    long now = nanoTime.getAsLong();
    long last = lastRelief.get();
    if (now - last < RELIEF_NANOS || !lastRelief.compareAndSet(last, now)) {
      return;
    }
    List<ConnectionMemory> greedy =
        connections.stream()
            .sorted(Comparator.comparingLong(ConnectionMemory::held).reversed())
            .limit(MOST_RELIEVED)
            .toList();
    if (greedy.isEmpty() || greedy.getFirst().held() <= refused.held()) {
      return; // it is the largest itself
    }
    pressedUntil = now + PRESSURE_NANOS;
    long least = Math.max(greedy.getFirst().held() / 2, refused.held());
    for (ConnectionMemory each : greedy) {
      if (each != refused && each.held() >= least) {
        relieved.increment();
        each.relieve();
      }
    }
  }
}
