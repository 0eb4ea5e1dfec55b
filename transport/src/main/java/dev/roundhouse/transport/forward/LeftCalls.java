package dev.roundhouse.transport.forward;

import io.netty.handler.codec.http2.Http2Error;
import io.netty.util.collection.IntObjectHashMap;
import io.netty.util.collection.IntObjectMap;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * A server's abandoned calls that have not ended there. Those that the server will soon end by
 * itself are given {@link #GRACE_NANOS}; the others are reset, in turn, as often as {@link
 * ResetBudget} allows. A call that ends before its turn needs no reset. On the event loop of the
 * connection.
 */
final class LeftCalls {
  /** A server ends a call at its deadline; after this time it is reset. */
  static final long GRACE_NANOS = TimeUnit.SECONDS.toNanos(1);

  /**
   * Per client connection. A client that leaves more is refused further calls here until some have
   * ended, so that it cannot hold a server's resources, nor take all turns.
   */
  static final int MOST_OF_CLIENT = 256;

  /** Between two checks, while there are any. */
  private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  private final Streams streams;
  private final LongSupplier clock;
  private final Map<Object, Integer> clients = new HashMap<>();
  private final ResetBudget budget;
  private final IntObjectMap<Left> open = new IntObjectHashMap<>();

  /** In order of expiry, since all have the same grace. */
  private final Queue<Left> ending = new ArrayDeque<>();

  private final Queue<Left> waiting = new ArrayDeque<>();
  private boolean looks;

  /** Access to the connection's streams. */
  interface Streams {
    void reset(int id, Http2Error error);

    void later(Runnable task, long nanos);
  }

  /** One of them. */
  private static final class Left {
    final int id;
    final Object client;
    final long endNanos;
    Http2Error error;
    boolean over;

    Left(int id, Object client, long endNanos, Http2Error error) {
      this.id = id;
      this.client = client;
      this.endNanos = endNanos;
      this.error = error;
    }
  }

  /**
   * @param clock in nanoseconds
   */
  LeftCalls(Streams streams, LongSupplier clock) {
    this.streams = streams;
    this.clock = clock;
    budget = new ResetBudget(clock);
  }

  /** The server is about to end a call. */
  void letEnd(int id, Object client) {
    Left left = new Left(id, client, clock.getAsLong() + GRACE_NANOS, Http2Error.CANCEL);
    add(left);
    ending.add(left);
    lookLater();
  }

  /** A call is to be reset as soon as it may be. */
  void reset(int id, Object client, Http2Error error) {
    if (waiting.isEmpty() && budget.take()) {
      streams.reset(id, error);
      return;
    }
    Left left = new Left(id, client, clock.getAsLong(), error);
    add(left);
    waiting.add(left);
    lookLater();
  }

  private void add(Left left) {
    open.put(left.id, left);
    clients.merge(left.client, 1, Integer::sum);
  }

  /** The server has answered, and takes no more of the request. */
  void answered(int id) {
    Left left = open.get(id);
    if (left == null) {
      return;
    }
    left.error = Http2Error.NO_ERROR;
    if (waiting.isEmpty() && budget.take()) {
      closed(id);
      streams.reset(id, left.error);
    }
  }

  /** A stream is closed, by either side. */
  void closed(int id) {
    Left left = open.remove(id);
    if (left != null) {
      left.over = true;
      int others = clients.getOrDefault(left.client, 0) - 1;
      if (others > 0) {
        clients.put(left.client, others);
      } else {
        clients.remove(left.client);
      }
    }
  }

  /** True when a client has reached its limit. */
  boolean hasMostOf(Object client) {
    return !open.isEmpty() && clients.getOrDefault(client, 0) >= MOST_OF_CLIENT;
  }

  /** How many there are. */
  int size() {
    return open.size();
  }

  private void lookLater() {
    if (!looks) {
      looks = true;
      streams.later(this::look, LOOK_NANOS);
    }
  }

  /** Resets expired calls within the budget. */
  void look() {
    looks = false;
    long now = clock.getAsLong();
    for (Left next = ending.peek(); next != null; next = ending.peek()) {
      if (!next.over && next.endNanos - now > 0) {
        break;
      }
      ending.remove();
      if (!next.over) {
        waiting.add(next);
      }
    }
    for (Left next = waiting.peek(); next != null; next = waiting.peek()) {
      if (!next.over && !budget.take()) {
        break;
      }
      waiting.remove();
      if (!next.over) {
        closed(next.id);
        streams.reset(next.id, next.error);
      }
    }
    if (!ending.isEmpty() || !waiting.isEmpty()) {
      lookLater();
    }
  }
}
