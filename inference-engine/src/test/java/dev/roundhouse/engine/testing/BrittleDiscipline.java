package dev.roundhouse.engine.testing;

import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.schedule.ForwardingDiscipline;

/** First come, first served, until a test has its choice block or throw. */
public final class BrittleDiscipline extends ForwardingDiscipline {
  private volatile Runnable onChoice = () -> {};

  public BrittleDiscipline() {
    super(new Fifo());
  }

  /** Has something happen on the dispatch thread before each choice. */
  public void onChoice(Runnable action) {
    onChoice = action;
  }

  @Override
  public String name() {
    return "brittle";
  }

  @Override
  public int choose() {
    onChoice.run();
    return super.choose();
  }
}
