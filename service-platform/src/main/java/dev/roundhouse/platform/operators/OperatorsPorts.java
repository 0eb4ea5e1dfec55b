package dev.roundhouse.platform.operators;

import java.util.List;

/** The processes that are answered for, as they are known now. */
@FunctionalInterface
public interface OperatorsPorts {

  /** By name; each name once. Thread-safe. */
  List<OperatorsPort> now();
}
