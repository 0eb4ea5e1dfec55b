package dev.roundhouse.worker;

import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.ReferenceFunction;
import dev.roundhouse.engine.testing.TestBundle;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** Doubles, like the test bundle, but holds executions up while it is shut. */
final class Gate implements ReferenceFunction {
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition opened = lock.newCondition();
  private final Semaphore arrivals = new Semaphore(0);
  private boolean open = true;

  @Override
  public void apply(
      DeviceProgram program, List<MemorySegment> arguments, List<MemorySegment> results) {
    lock.lock();
    try {
      if (!open) {
        arrivals.release();
      }
      while (!open) {
        opened.awaitUninterruptibly();
      }
    } finally {
      lock.unlock();
    }
    TestBundle.DOUBLE.apply(program, arguments, results);
  }

  void shut() {
    lock.lock();
    try {
      open = false;
    } finally {
      lock.unlock();
    }
  }

  void open() {
    lock.lock();
    try {
      open = true;
      opened.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Waits until an execution stands before the gate. */
  void awaitArrival() {
    arrivals.acquireUninterruptibly();
  }
}
