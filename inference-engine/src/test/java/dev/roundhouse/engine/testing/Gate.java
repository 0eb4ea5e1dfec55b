package dev.roundhouse.engine.testing;

import java.util.concurrent.CountDownLatch;

/** Where a call of the device waits until a test lets it go on. */
public final class Gate {
  private final CountDownLatch reached = new CountDownLatch(1);
  private final CountDownLatch open = new CountDownLatch(1);

  /** Waits until the gate is open. */
  public void pass() {
    reached.countDown();
    boolean interrupted = false;
    while (true) {
      try {
        open.await();
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  public void open() {
    open.countDown();
  }

  /** True when somebody waits, or has waited. */
  public boolean isReached() {
    return reached.getCount() == 0;
  }
}
