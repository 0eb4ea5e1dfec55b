package dev.roundhouse.engine.testing;

import dev.roundhouse.engine.schedule.Discipline;
import dev.roundhouse.engine.schedule.Fifo;

/** First come, first served, until a test has its choice block or throw. */
public final class BrittleDiscipline implements Discipline {
  private final Discipline sound = new Fifo();
  private volatile Runnable onChoice = () -> {};

  /** Has something happen on the dispatch thread before each choice. */
  public void onChoice(Runnable action) {
    onChoice = action;
  }

  @Override
  public String name() {
    return "brittle";
  }

  @Override
  public boolean shedsByCost() {
    return sound.shedsByCost();
  }

  @Override
  public void register(int slot, double weight) {
    sound.register(slot, weight);
  }

  @Override
  public void unregister(int slot) {
    sound.unregister(slot);
  }

  @Override
  public void ready(int slot, Front front) {
    sound.ready(slot, front);
  }

  @Override
  public void notReady(int slot) {
    sound.notReady(slot);
  }

  @Override
  public boolean isEmpty() {
    return sound.isEmpty();
  }

  @Override
  public boolean hasOther(int slot) {
    return sound.hasOther(slot);
  }

  @Override
  public int choose() {
    onChoice.run();
    return sound.choose();
  }

  @Override
  public void charge(int slot, long expectedNanos, long nowNanos) {
    sound.charge(slot, expectedNanos, nowNanos);
  }

  @Override
  public void correct(int slot, long expectedNanos, long deviceNanos, long nowNanos) {
    sound.correct(slot, expectedNanos, deviceNanos, nowNanos);
  }
}
