package dev.roundhouse.engine.schedule;

/** The model whose oldest request has waited longest. ReactantServer, "fifo". */
public final class Fifo implements Discipline {

  @Override
  public String name() {
    return "fifo";
  }

  @Override
  public long key(Front front) {
    return front.arrivalNanos();
  }
}
