package dev.roundhouse.worker.transport;

import dev.roundhouse.engine.transport.Transport;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The ways in, in the order in which they are started, shown and stopped. Immutable. */
public final class Transports {
  private final List<Transport> all;

  public Transports(List<Transport> all) {
    this.all = List.copyOf(all);
  }

  /** In order. */
  public List<Transport> all() {
    return all;
  }

  /** By name: further ports of a transport have a number behind it, and 0 is none. */
  public Map<String, Integer> ports() {
    Map<String, Integer> ports = new LinkedHashMap<>();
    for (Transport transport : all) {
      List<Integer> own = transport.ports();
      ports.put(transport.name(), own.isEmpty() ? 0 : own.getFirst());
      for (int i = 1; i < own.size(); i++) {
        ports.put(transport.name() + "-" + (i + 1), own.get(i));
      }
    }
    return ports;
  }
}
