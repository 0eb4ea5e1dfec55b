package dev.roundhouse.worker.transport.added;

import dev.roundhouse.engine.transport.TransportMeters;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import java.util.regex.Pattern;

/** What an added transport counts, and what is counted of it. Thread-safe. */
public final class TransportCounts implements TransportMeters {
  private static final int MOST = 100;
  private static final Pattern NAME = Pattern.compile("[a-z][a-z0-9_]{0,63}");

  private final Map<String, LongAdder> events = new TreeMap<>();
  private final Map<String, LongSupplier> levels = new TreeMap<>();
  private final AtomicInteger connections = new AtomicInteger();
  private final AtomicInteger open = new AtomicInteger();
  private final LongAdder requests = new LongAdder();
  private boolean opened;

  @Override
  public synchronized LongAdder counter(String name) {
    require(name);
    return events.computeIfAbsent(name, made -> new LongAdder());
  }

  @Override
  public synchronized void level(String name, LongSupplier value) {
    require(name);
    if (levels.putIfAbsent(name, value) != null) {
      throw new IllegalArgumentException("there is a level '%s' already".formatted(name));
    }
  }

  private void require(String name) {
    if (opened) {
      throw new IllegalStateException(
          "meter '%s' is made too late: make it in TransportProvider.open".formatted(name));
    }
    if (!NAME.matcher(name).matches()) {
      throw new IllegalArgumentException(
          "'%s' is no name of a meter; write %s".formatted(name, NAME));
    }
    if (events.size() + levels.size() == MOST) {
      throw new IllegalArgumentException(
          "meter '%s' is one more than the %d that a transport may have".formatted(name, MOST));
    }
  }

  /** No further meters. */
  synchronized void opened() {
    opened = true;
  }

  /** By name, as they were made while it was opened. */
  public synchronized Map<String, LongAdder> events() {
    return Map.copyOf(events);
  }

  /** By name, as they were made while it was opened. */
  public synchronized Map<String, LongSupplier> levels() {
    return Map.copyOf(levels);
  }

  /** Connections that are open. */
  public int connections() {
    return connections.get();
  }

  /** Requests that have not ended. */
  public int open() {
    return open.get();
  }

  /** Requests since the start. */
  public long requestsEver() {
    return requests.sum();
  }

  /** With this one, how many are open. */
  int connected() {
    return connections.incrementAndGet();
  }

  void disconnected() {
    connections.decrementAndGet();
  }

  void begun() {
    requests.increment();
    open.incrementAndGet();
  }

  void ended() {
    open.decrementAndGet();
  }
}
