package dev.roundhouse.engine.transport;

/** Who calls, admitted by the operator's rules. Thread-safe. */
public interface Caller {

  /** The name of its identity in the server's configuration; empty for one that has none. */
  String name();

  /** What it was admitted for. */
  CallerUse use();

  /** Whether it may use a model; requests for others are refused. */
  boolean mayUse(String model);
}
