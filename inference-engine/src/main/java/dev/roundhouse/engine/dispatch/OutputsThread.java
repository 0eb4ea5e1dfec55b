package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.batch.BatchSlot;
import dev.roundhouse.engine.deliver.Delivery;
import dev.roundhouse.engine.deliver.Failures;
import dev.roundhouse.engine.queue.Ingress;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Delivers large outputs on the thread {@code outputs}, in the order in which batches end, so that
 * copying them holds up no other batch. Slots come from the dispatch thread and go back to it.
 */
public final class OutputsThread extends StepThread {
  private final AtomicInteger outside = new AtomicInteger();
  private @Nullable Ingress<BatchSlot> waiting;
  private @Nullable Ingress<BatchSlot> done;
  private @Nullable Delivery delivery;

  /** Since when a batch has been delivered, on the system's clock. */
  private volatile long busySinceNanos = DeviceCalls.NONE;

  public OutputsThread(FailStop failStop) {
    super("outputs", failStop);
  }

  /** Starts the thread. */
  void open(Delivery with, int slots) {
    delivery = with;
    waiting = new Ingress<>(slots);
    done = new Ingress<>(slots);
    start();
  }

  /** Takes a slot to be delivered. Dispatch thread only. */
  void deliver(BatchSlot slot) {
    outside.incrementAndGet();
    if (!queue(waiting).offer(slot)) {
      throw new IllegalStateException("more batches are delivered than there are slots");
    }
    wake();
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

  @Override
  boolean step() {
    BatchSlot slot = queue(waiting).poll();
    if (slot != null) {
      deliver(Objects.requireNonNull(delivery), slot);
    }
    return slot != null;
  }

  @Override
  void onStop() {
    Objects.requireNonNull(delivery).close();
  }

  /** Every slot that it has is delivered. */
  @Override
  boolean givesUp() {
    return false;
  }

  private void deliver(Delivery deliver, BatchSlot slot) {
    busySinceNanos = System.nanoTime();
    try {
      try {
        deliver.deliver(slot);
      } catch (Throwable e) {
        if (Failures.isLost(e)) {
          failStop().request(e); // before anybody is told
        }
        deliver.fail(slot, e);
      }
      queue(done).offer(slot);
    } catch (Throwable e) {
      failStop()
          .request(e); // the slot is not used again: who is left in it is ended with the engine
    }
    busySinceNanos = DeviceCalls.NONE;
    wakeDispatch();
  }

  private static Ingress<BatchSlot> queue(@Nullable Ingress<BatchSlot> opened) {
    return Objects.requireNonNull(opened, "not open");
  }
}
