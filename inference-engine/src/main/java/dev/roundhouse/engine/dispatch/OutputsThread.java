package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.batch.BatchSlot;
import dev.roundhouse.engine.deliver.Delivery;
import dev.roundhouse.engine.deliver.Failures;
import dev.roundhouse.engine.queue.Ingress;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Delivers large outputs on the thread {@code outputs}, in the order in which batches end, so that
 * copying them holds up no other batch. Slots come from the dispatch thread and go back to it.
 */
public final class OutputsThread {
  private final FailStop failStop;
  private final Thread thread = Thread.ofPlatform().name("outputs").unstarted(this::run);
  private final AtomicInteger outside = new AtomicInteger();
  private @Nullable Ingress<BatchSlot> todo;
  private @Nullable Ingress<BatchSlot> done;
  private @Nullable Delivery delivery;
  private volatile Runnable wakeDispatch = () -> {};
  private volatile boolean stopped;

  /** Since when a batch has been delivered, on the system's clock. */
  private volatile long busySinceNanos = DeviceCalls.NONE;

  public OutputsThread(FailStop failStop) {
    this.failStop = failStop;
  }

  /** Starts the thread. */
  void open(Delivery with, int slots) {
    delivery = with;
    todo = new Ingress<>(slots);
    done = new Ingress<>(slots);
    thread.start();
  }

  void wakeDispatchBy(Runnable wake) {
    wakeDispatch = wake;
  }

  /** Takes a slot to be delivered. Dispatch thread only. */
  void deliver(BatchSlot slot) {
    outside.incrementAndGet();
    if (!queue(todo).offer(slot)) {
      throw new IllegalStateException("more batches are delivered than there are slots");
    }
    LockSupport.unpark(thread);
  }

  /** A slot whose members have been answered; null when there is none. Dispatch thread only. */
  @Nullable BatchSlot delivered() {
    BatchSlot slot = outside.get() == 0 ? null : queue(done).poll();
    if (slot != null) {
      outside.decrementAndGet();
    }
    return slot;
  }

  boolean hasDelivered() {
    return outside.get() > 0 && !queue(done).isEmpty();
  }

  /** True while slots are here. */
  boolean isBusy() {
    return outside.get() > 0;
  }

  /** Since when a batch has been delivered; {@link DeviceCalls#NONE} while none is. Any thread. */
  long busySinceNanos() {
    return busySinceNanos;
  }

  /** Returns when every slot has been delivered and the thread is gone. Dispatch thread only. */
  void close() {
    stopped = true;
    LockSupport.unpark(thread);
    boolean interrupted = false;
    while (thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void run() {
    Ingress<BatchSlot> in = queue(todo);
    Delivery deliver = Objects.requireNonNull(delivery);
    while (true) {
      BatchSlot slot = in.poll();
      if (slot != null) {
        deliver(deliver, slot);
      } else if (stopped) {
        deliver.close();
        return;
      } else {
        LockSupport.park(this);
      }
    }
  }

  private void deliver(Delivery deliver, BatchSlot slot) {
    busySinceNanos = System.nanoTime();
    try {
      try {
        deliver.deliver(slot);
      } catch (Throwable e) {
        if (Failures.isLost(e)) {
          failStop.request(e); // before anybody is told
        }
        deliver.fail(slot, e);
      }
      queue(done).offer(slot);
    } catch (Throwable e) {
      failStop.request(e); // the slot is not used again: who is left in it is ended with the engine
    }
    busySinceNanos = DeviceCalls.NONE;
    wakeDispatch.run();
  }

  private static Ingress<BatchSlot> queue(@Nullable Ingress<BatchSlot> opened) {
    return Objects.requireNonNull(opened, "not open");
  }
}
