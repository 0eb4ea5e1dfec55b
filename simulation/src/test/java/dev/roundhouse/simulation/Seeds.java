package dev.roundhouse.simulation;

import java.util.stream.LongStream;

/** Which seeds a property is tried with; {@code -Dsim.seeds=1000} tries more. */
final class Seeds {
  private static final long COUNT = Long.getLong("sim.seeds", 40);
  private static final long FIRST = Long.getLong("sim.first-seed", 1);

  private Seeds() {}

  static LongStream all() {
    return LongStream.range(FIRST, FIRST + COUNT);
  }
}
