package dev.roundhouse.engine.transport;

import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;

/**
 * A transport's own meters, at the server's metrics with the transport's name as a label. The
 * server counts connections, requests and their ends by itself. Names are lower-case letters,
 * digits and {@code _}.
 */
public interface TransportMeters {

  /**
   * Something that happens: {@code roundhouse_transport_events_total{transport=...,event=name}}.
   *
   * @return to be counted up, by any thread
   * @throws IllegalArgumentException when the name is none, or there are too many
   * @throws IllegalStateException when the transport is open already
   */
  LongAdder counter(String name);

  /**
   * A level: {@code roundhouse_transport_level{transport=...,level=name}}.
   *
   * @param value read at every scrape, by any thread; must not block
   * @throws IllegalArgumentException when the name is none or taken, or there are too many
   * @throws IllegalStateException when the transport is open already
   */
  void level(String name, LongSupplier value);
}
