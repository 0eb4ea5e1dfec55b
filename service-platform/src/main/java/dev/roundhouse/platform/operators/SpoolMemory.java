package dev.roundhouse.platform.operators;

import java.io.IOException;
import java.lang.ref.Cleaner;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What answers of other processes may take until they are written to somebody, all of them
 * together: a quarter of the heap. An answer that does not fit is left out, as one that did not
 * come, for the heap is that of a gateway, or of a supervisor with 64 MB. Thread-safe.
 */
final class SpoolMemory {
  private static final int HEAP_PART = 4;
  private static final Cleaner CLEANER = Cleaner.create();

  private final long limit;
  private final AtomicLong taken = new AtomicLong();

  SpoolMemory() {
    this(Runtime.getRuntime().maxMemory() / HEAP_PART);
  }

  /**
   * @param limit in bytes
   */
  SpoolMemory(long limit) {
    this.limit = limit;
  }

  /** Bytes that are held. */
  long taken() {
    return taken.get();
  }

  /**
   * Begins to count for somebody.
   *
   * @param owner given up without a release, it counts until it is collected
   */
  Held hold(Object owner) {
    Held held = new Held();
    CLEANER.register(owner, held::release);
    return held;
  }

  /** What one spool holds. */
  final class Held {
    private final AtomicLong bytes = new AtomicLong();

    void take(int more) throws IOException {
      if (taken.addAndGet(more) > limit) {
        taken.addAndGet(-more);
        throw new IOException(
            "its answer does not fit: answers of other processes may take %d MB here, compressed, a quarter of the heap; raise -Xmx, or ask for one worker, or have workers show fewer series (roundhouse.worker.metrics.per-model)"
                .formatted(limit / 1_000_000));
      }
      bytes.addAndGet(more);
    }

    void release() {
      taken.addAndGet(-bytes.getAndSet(0));
    }
  }
}
