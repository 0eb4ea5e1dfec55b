package dev.roundhouse.simulation.study;

import dev.roundhouse.engine.schedule.Discipline;
import dev.roundhouse.engine.schedule.ForwardingDiscipline;

/** A discipline that drops a call when its deadline has passed, and not before. A peer. */
final class WithoutLaxity extends ForwardingDiscipline {
  WithoutLaxity(Discipline discipline) {
    super(discipline);
  }

  @Override
  public String name() {
    return super.name() + " without laxity";
  }

  @Override
  public boolean shedsByCost() {
    return false;
  }
}
