package dev.roundhouse.benchmarks.residency;

import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.report.Cell;
import dev.roundhouse.benchmarks.report.Goal;
import dev.roundhouse.engine.evict.EvictionPolicy;
import dev.roundhouse.engine.evict.ExpectedUse;
import dev.roundhouse.engine.evict.LeastRecentlyUsed;
import dev.roundhouse.measure.Pairs;
import dev.roundhouse.simulation.cache.RequestTrace;
import dev.roundhouse.simulation.cache.Traces;
import java.util.SplittableRandom;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What a policy costs the dispatch thread: calls of a batch whose weights are there (hold, used,
 * release), and of one whose weights are not (the choice of a victim too).
 */
final class PolicyCost implements Bench {
  private static final int SAMPLES = 21;
  private static final int QUICK_SAMPLES = 7;
  private static final int CALLS = 100_000;
  private static final int FEW = 160;
  private static final int MANY = 16_000;

  /** A choice among a hundred times as many takes log(16,000) / log(160) = 1.9 times as long. */
  private static final double LOGARITHMIC = 3;

  @Override
  public String name() {
    return "residency-policy-cost";
  }

  @Override
  public String about() {
    return "what the choice of what to evict costs, per batch";
  }

  @Override
  public void run(BenchRun run) {
    int samples = run.quick() ? QUICK_SAMPLES : SAMPLES;
    run.say("%s: %d samples of %d batches per cell", name(), samples, CALLS);
    cell(run, "batch of a resident model, vs lru", samples, hits(ours()), hits(lru()), null);
    cell(
        run,
        "batch that needs a load, vs lru",
        samples,
        misses(ours(), FEW),
        misses(lru(), FEW),
        null);
    cell(
        run,
        "batch that needs a load, 16000 resident vs 160, both frequency",
        samples,
        misses(ours(), MANY),
        misses(ours(), FEW),
        Goal.atMost(LOGARITHMIC));
  }

  private void cell(
      BenchRun run, String cell, int samples, Driver ours, Driver peer, @Nullable Goal goal) {
    Pairs pairs = new Pairs();
    for (int sample = -samples; sample < samples; sample++) {
      double our = ours.nanosPerBatch();
      double other = peer.nanosPerBatch();
      if (sample >= 0) { // the others warm up
        pairs.add(our, other);
      }
    }
    run.cells().accept(new Cell(name(), cell, pairs.compare(), "ns/batch", goal));
  }

  private static Supplier<EvictionPolicy> ours() {
    return ExpectedUse::new;
  }

  private static Supplier<EvictionPolicy> lru() {
    return LeastRecentlyUsed::new;
  }

  private static Driver hits(Supplier<EvictionPolicy> policy) {
    return new Driver(policy.get(), FEW, FEW);
  }

  private static Driver misses(Supplier<EvictionPolicy> policy, int fit) {
    return new Driver(policy.get(), fit * 10, fit);
  }

  /** Batches of models by Zipf 0.9. */
  private static final class Driver {
    private final EvictionPolicy policy;
    private final int fit;
    private final boolean[] resident;
    private final int[] requests;
    private int residents;
    private long now;

    Driver(EvictionPolicy policy, int models, int fit) {
      this.policy = policy;
      this.fit = fit;
      RequestTrace trace = Traces.zipf(models, 0.9, 4 * CALLS, new SplittableRandom(3));
      requests = trace.requests();
      resident = new boolean[models];
      for (int model = 0; model < models; model++) {
        policy.register(model, 100_000_000, 4_100_000);
      }
    }

    /** Of a batch that needs a load when some do, else of any. */
    double nanosPerBatch() {
      return fit == resident.length ? nanosPerHit() : nanosPerLoad();
    }

    private double nanosPerHit() {
      long start = System.nanoTime();
      for (int i = 0; i < CALLS; i++) {
        batch(next());
      }
      return (double) (System.nanoTime() - start) / CALLS;
    }

    private double nanosPerLoad() {
      long nanos = 0;
      int loads = 0;
      for (int i = 0; i < CALLS; i++) {
        int model = next();
        boolean load = !resident[model];
        long start = load ? System.nanoTime() : 0;
        batch(model);
        if (load) {
          nanos += System.nanoTime() - start;
          loads++;
        }
      }
      return (double) nanos / loads;
    }

    private int next() {
      return requests[(int) (now++ % requests.length)];
    }

    private void batch(int model) {
      policy.hold(model);
      policy.used(model, now);
      if (!resident[model]) {
        if (residents == fit) {
          int victim = policy.victim();
          policy.evicted(victim);
          resident[victim] = false;
          residents--;
        }
        policy.loaded(model, now);
        resident[model] = true;
        residents++;
      }
      policy.release(model);
    }
  }
}
