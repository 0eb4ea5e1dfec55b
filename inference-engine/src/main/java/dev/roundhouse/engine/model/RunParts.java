package dev.roundhouse.engine.model;

import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.OutputTensor;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;

/**
 * The parts of a run's answer that are on their way: how many wait to be read, and whoever makes
 * more waits for them. Thread-safe.
 */
final class RunParts {
  /** Parts of one request that wait to be read. */
  static final int MOST = 16;

  /** Bytes of them, at which no other goes out: the last may go beyond. */
  static final long MOST_BYTES = 1 << 20;

  private final ReentrantLock lock;
  private final Condition changed;

  // Guarded by lock.
  private int waiting;
  private long bytes;

  /**
   * @param lock the run's
   */
  RunParts(ReentrantLock lock) {
    this.lock = lock;
    changed = lock.newCondition();
  }

  /**
   * Waits until a part may go out, and counts it. Holding the lock.
   *
   * @param over whether the run has ended
   * @return false, counting nothing, when it has
   */
  boolean take(long size, BooleanSupplier over) throws InterruptedException {
    while (!over.getAsBoolean()) {
      if (waiting < MOST && bytes < MOST_BYTES) {
        waiting++;
        bytes += size;
        return true;
      }
      try {
        changed.await();
      } catch (InterruptedException e) {
        if (!over.getAsBoolean()) { // else it was interrupted for that
          throw e;
        }
      }
    }
    return false;
  }

  /** The run has ended: nobody waits any more. Holding the lock. */
  void end() {
    changed.signalAll();
  }

  private void giveBack(long size) {
    lock.lock();
    try {
      waiting--;
      bytes -= size;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /**
   * A part that {@link #take} has counted.
   *
   * @param release run once, when its receiver has closed it
   */
  Answer part(String version, List<OutputTensor> outputs, long size, Runnable release) {
    return new Part(version, outputs, size, release);
  }

  private final class Part implements Answer {
    private final String version;
    private final List<OutputTensor> outputs;
    private final long size;
    private final Runnable release;
    private final AtomicBoolean closed = new AtomicBoolean();

    Part(String version, List<OutputTensor> outputs, long size, Runnable release) {
      this.version = version;
      this.outputs = outputs;
      this.size = size;
      this.release = release;
    }

    @Override
    public String modelVersion() {
      return version;
    }

    @Override
    public List<OutputTensor> outputs() {
      return outputs;
    }

    @Override
    public boolean isLast() {
      return false;
    }

    /** Its memory is the heap's, and stays for as long as somebody refers to it. */
    @Override
    public void free() {}

    @Override
    public void close() {
      if (closed.compareAndSet(false, true)) {
        try {
          release.run();
        } finally {
          giveBack(size);
        }
      }
    }
  }
}
