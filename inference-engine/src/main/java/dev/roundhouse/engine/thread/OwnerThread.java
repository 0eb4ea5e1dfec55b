package dev.roundhouse.engine.thread;

import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The one thread that may touch some state: the first that asks, until another takes its place.
 * Checked at the doors of that state by {@code assert owner.isHere()}, which costs nothing without
 * {@code -ea}. Thread-safe.
 */
public final class OwnerThread {
  private final AtomicReference<@Nullable Thread> owner = new AtomicReference<>();

  /** True when this is the thread, which it is from now on if there was none. */
  public boolean isHere() {
    Thread here = Thread.currentThread();
    return owner.get() == here || owner.compareAndSet(null, here);
  }

  /** Makes this the thread; the one before must not touch the state any more. */
  public void takeOver() {
    owner.set(Thread.currentThread());
  }
}
