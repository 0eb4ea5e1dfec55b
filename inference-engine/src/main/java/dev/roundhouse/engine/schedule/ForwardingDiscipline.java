package dev.roundhouse.engine.schedule;

import org.jspecify.annotations.Nullable;

/** Forwards to another discipline; subclasses override some methods. */
public abstract class ForwardingDiscipline implements Discipline {
  private final Discipline discipline;

  protected ForwardingDiscipline(Discipline discipline) {
    this.discipline = discipline;
  }

  @Override
  public String name() {
    return discipline.name();
  }

  @Override
  public boolean watchesQueues() {
    return discipline.watchesQueues();
  }

  @Override
  public boolean shedsByCost() {
    return discipline.shedsByCost();
  }

  @Override
  public void register(int slot, double weight) {
    discipline.register(slot, weight);
  }

  @Override
  public void unregister(int slot) {
    discipline.unregister(slot);
  }

  @Override
  public void ready(int slot, Front front) {
    discipline.ready(slot, front);
  }

  @Override
  public void notReady(int slot) {
    discipline.notReady(slot);
  }

  @Override
  public boolean isEmpty() {
    return discipline.isEmpty();
  }

  @Override
  public boolean hasOther(int slot) {
    return discipline.hasOther(slot);
  }

  @Override
  public int choose() {
    return discipline.choose();
  }

  @Override
  public int[] order() {
    return discipline.order();
  }

  @Override
  public String criterion() {
    return discipline.criterion();
  }

  @Override
  public void charge(int slot, long expectedNanos, long nowNanos) {
    discipline.charge(slot, expectedNanos, nowNanos);
  }

  @Override
  public void correct(int slot, long expectedNanos, long deviceNanos, long nowNanos) {
    discipline.correct(slot, expectedNanos, deviceNanos, nowNanos);
  }

  @Override
  public @Nullable Standing standing(int slot) {
    return discipline.standing(slot);
  }
}
