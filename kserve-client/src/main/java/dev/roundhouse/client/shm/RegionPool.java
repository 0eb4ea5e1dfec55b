package dev.roundhouse.client.shm;

import dev.roundhouse.client.pool.BufferPool;
import dev.roundhouse.client.pool.PoolTimeoutException;
import dev.roundhouse.client.pool.Span;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The slots of a region. A slot that a server may still write to, because its call's end is
 * unknown, is never lent again; when half are lost, the region is worn out. Thread-safe.
 */
public final class RegionPool {
  private final SharedRegion region;
  private final BufferPool pool;

  // Under this object's lock.
  private int lent;
  private int lost;
  private boolean retired;

  public RegionPool(SharedRegion region, int slots) {
    this.region = region;
    pool = new BufferPool(region.memory(), slots);
  }

  public SharedRegion region() {
    return region;
  }

  /** True when so many bytes fit into it at all. */
  public boolean holds(long bytes) {
    return bytes <= pool.slots() * pool.slotBytes();
  }

  /**
   * Lends so many bytes.
   *
   * @param patience zero not to wait
   * @return null when none became free in time, or the region is retired
   */
  public @Nullable Span lend(long bytes, Duration patience) throws InterruptedException {
    synchronized (this) {
      if (retired) {
        return null;
      }
      lent++; // before the span is there, so that nobody unmaps it
    }
    try {
      return pool.acquire(pool.slotsFor(bytes), patience);
    } catch (PoolTimeoutException e) {
      returned();
      return null;
    } catch (InterruptedException | RuntimeException e) {
      returned();
      throw e;
    }
  }

  /** Takes a span back. */
  public void giveBack(Span span) {
    span.close();
    returned();
  }

  /**
   * Takes a span back that a server may still write to.
   *
   * @return true when the region is worn out
   */
  public boolean lose(Span span) {
    boolean worn;
    synchronized (this) {
      lost += (int) (span.byteSize() / pool.slotBytes());
      worn = 2 * lost >= pool.slots();
    }
    returned();
    return worn;
  }

  /** Stops lending, and closes the region once all loans are back. */
  public void retire() {
    synchronized (this) {
      retired = true;
      if (lent > 0) {
        region.unlink();
        return;
      }
    }
    region.close();
  }

  private void returned() {
    synchronized (this) {
      lent--;
      if (!retired || lent > 0) {
        return;
      }
    }
    region.close();
  }
}
