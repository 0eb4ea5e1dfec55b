package dev.roundhouse.platform.payload;

/**
 * Room among what waits to be sent, taken before anything is copied for an event. It goes over to
 * the event that is offered with it; otherwise it is given back when it is closed. For one thread.
 */
public final class PayloadRoom implements AutoCloseable {
  private final PayloadLog log;
  private long bytes;

  PayloadRoom(PayloadLog log) {
    this.log = log;
  }

  /** Takes more; false, taking none, when there is none. */
  boolean take(long more) {
    if (!log.take(more)) {
      return false;
    }
    bytes += more;
    return true;
  }

  /**
   * Has an event sent. What it does not need is given back; where it needs more, and there is none,
   * it is dropped.
   */
  public void offer(PayloadEvent event) {
    long held = event.heldBytes();
    if (held > bytes && !take(held - bytes)) {
      log.drop(PayloadLog.Drop.FULL);
      return;
    }
    log.add(event);
    bytes -= held;
  }

  /** Harmless when repeated. */
  @Override
  public void close() {
    log.giveBack(bytes);
    bytes = 0;
  }
}
