package dev.roundhouse.engine.schedule;

/** ReactantServer's "fifo": runs the model whose oldest request has waited longest. */
public final class Fifo extends KeyedDiscipline {

  @Override
  public String name() {
    return "fifo";
  }

  @Override
  public String criterion() {
    return "arrival";
  }

  @Override
  long key(Front front) {
    return front.arrivalNanos();
  }

  @Override
  long secondKey(Front front) {
    return 0;
  }
}
