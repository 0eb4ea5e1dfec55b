package dev.roundhouse.benchmarks.engine;

import com.sun.management.OperatingSystemMXBean;
import dev.roundhouse.engine.Engine;
import java.lang.foreign.Arena;
import java.lang.management.ManagementFactory;
import java.util.Arrays;

/**
 * The one thread that calls the engine: keeps requests outstanding, round robin over the models.
 */
final class EngineCaller {
  private static final int MOST_OUTSTANDING = 1024;
  private static final OperatingSystemMXBean SYSTEM =
      ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);

  private final Engine engine;
  private final CompletionRing ring;
  private final Slot[] slots = new Slot[MOST_OUTSTANDING];
  private String[] models = {};
  private int nextModel;
  private int sequence;

  /** For use by the thread that constructs it. */
  EngineCaller(Engine engine, Arena arena) {
    this.engine = engine;
    this.ring = new CompletionRing(MOST_OUTSTANDING, Thread.currentThread());
    for (int i = 0; i < slots.length; i++) {
      slots[i] = new Slot(i, arena, ring);
    }
  }

  void call(String... names) {
    models = names;
    nextModel = 0;
  }

  /** Runs and says what it took, as the peer's program does. */
  String run(int depth, int millis, long spinNanos) {
    if (depth < 1 || depth > MOST_OUTSTANDING) {
      throw new IllegalArgumentException(
          "depth %d is not within 1..%d".formatted(depth, MOST_OUTSTANDING));
    }
    Latencies latencies = new Latencies();
    long requests = 0;
    long cpu = SYSTEM.getProcessCpuTime();
    long start = System.nanoTime();
    long end = start + millis * 1_000_000L;
    long now = start;
    int outstanding = 0;
    while (outstanding < depth) {
      submit(slots[outstanding++]);
    }
    while (outstanding > 0) {
      Slot slot = slots[ring.take(spinNanos)];
      slot.check();
      requests++;
      if (depth == 1) {
        now = System.nanoTime();
        latencies.add(now - slot.sentNanos());
      } else if (requests % 64 == 0) {
        now = System.nanoTime();
      }
      if (now < end) {
        submit(slot);
      } else {
        outstanding--;
      }
    }
    long wall = System.nanoTime() - start;
    cpu = SYSTEM.getProcessCpuTime() - cpu;
    latencies.sort();
    return "requests=%d wall_ns=%d cpu_ns=%d p50_ns=%d p99_ns=%d"
        .formatted(requests, wall, cpu, latencies.quantile(0.5), latencies.quantile(0.99));
  }

  private void submit(Slot slot) {
    String model = models[nextModel];
    nextModel = nextModel + 1 == models.length ? 0 : nextModel + 1;
    engine.submit(slot.request(model, ++sequence));
  }

  private static final class Latencies {
    private long[] nanos = new long[1 << 16];
    private int count;

    void add(long value) {
      if (count == nanos.length) {
        nanos = Arrays.copyOf(nanos, 2 * count);
      }
      nanos[count++] = value;
    }

    void sort() {
      Arrays.sort(nanos, 0, count);
    }

    long quantile(double q) {
      return count == 0 ? 0 : nanos[(int) (q * (count - 1))];
    }
  }
}
