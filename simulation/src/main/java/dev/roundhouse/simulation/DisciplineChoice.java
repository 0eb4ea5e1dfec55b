package dev.roundhouse.simulation;

import dev.roundhouse.engine.schedule.Discipline;
import dev.roundhouse.engine.schedule.EarliestDeadline;
import dev.roundhouse.engine.schedule.FairShare;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.schedule.VirtualTime;
import java.time.Duration;
import java.util.List;
import java.util.function.Supplier;

/** The engine's disciplines, as its configuration sets them up by default. */
public enum DisciplineChoice {
  FAIR("fair", () -> new FairShare(Duration.ofSeconds(30).toNanos(), 0.25)),
  VIRTUAL_TIME("virtual-time", VirtualTime::new),
  EDF("edf", EarliestDeadline::new),
  FIFO("fifo", Fifo::new);

  private final String label;
  private final Supplier<Discipline> maker;

  DisciplineChoice(String label, Supplier<Discipline> maker) {
    this.label = label;
    this.maker = maker;
  }

  /** What a caller types, and what the discipline calls itself. */
  public String label() {
    return label;
  }

  /** Makes a new one, one per engine. */
  public Supplier<Discipline> maker() {
    return maker;
  }

  static List<DisciplineChoice> all() {
    return List.of(values());
  }
}
