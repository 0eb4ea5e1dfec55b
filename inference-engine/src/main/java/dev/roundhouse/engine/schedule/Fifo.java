package dev.roundhouse.engine.schedule;

/** The model whose oldest request has waited longest. ReactantServer, "fifo". */
public final class Fifo extends KeyedDiscipline {

  @Override
  public String name() {
    return "fifo";
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
