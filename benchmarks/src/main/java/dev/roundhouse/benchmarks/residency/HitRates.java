package dev.roundhouse.benchmarks.residency;

import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.report.Cell;
import dev.roundhouse.benchmarks.report.Goal;
import dev.roundhouse.engine.evict.EvictionPolicy;
import dev.roundhouse.engine.evict.ExpectedUse;
import dev.roundhouse.engine.evict.LeastRecentlyUsed;
import dev.roundhouse.measure.Pairs;
import dev.roundhouse.simulation.cache.Belady;
import dev.roundhouse.simulation.cache.CacheFindings;
import dev.roundhouse.simulation.cache.CacheRun;
import dev.roundhouse.simulation.cache.Footprints;
import dev.roundhouse.simulation.cache.IdealFrequency;
import dev.roundhouse.simulation.cache.MomentFrequency;
import dev.roundhouse.simulation.cache.RequestTrace;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Share of requests that find their weights on the device, by policy and kind of traffic: 10,000
 * models, of which 160 of mean size fit. A sample is one seed; every policy and yardstick sees the
 * same requests.
 */
final class HitRates implements Bench {
  static final String IDEAL = "ideal LFU";
  static final String MOMENT = "the moment's oracle";
  static final String BELADY = "Belady";
  static final String LRU = "lru";

  private static final String DEFAULT = "frequency";

  private static final int MODELS = 10_000;
  private static final int FIT = 160;
  private static final int SEEDS = 5;
  private static final int QUICK_SEEDS = 1;
  private static final int LENGTH = 600_000;
  private static final int QUICK_LENGTH = 250_000;
  private static final double WARM_UP = 0.4;

  private static final Map<String, Function<RequestTrace, EvictionPolicy>> POLICIES =
      Map.of(
          DEFAULT, trace -> new ExpectedUse(),
          LRU, trace -> new LeastRecentlyUsed(),
          IDEAL, IdealFrequency::new,
          MOMENT, MomentFrequency::new,
          BELADY, Belady::new);

  @Override
  public String name() {
    return "residency-hit-rate";
  }

  @Override
  public String about() {
    return "requests that find their weights on the device, against caches that know more";
  }

  @Override
  public void run(BenchRun run) {
    int seeds = run.quick() ? QUICK_SEEDS : SEEDS;
    int length = run.quick() ? QUICK_LENGTH : LENGTH;
    run.say("%s: %d traces of %d requests each", name(), Traffic.values().length * seeds, length);
    for (Traffic traffic : Traffic.values()) {
      List<Samples> asked = new ArrayList<>();
      ask(asked, DEFAULT, traffic, List.of(IDEAL, MOMENT, LRU, BELADY));
      ask(asked, LRU, traffic, List.of(IDEAL, MOMENT));
      for (int seed = 1; seed <= seeds; seed++) {
        Map<String, CacheFindings> found = find(traffic, length, new SplittableRandom(seed));
        asked.forEach(samples -> samples.add(found));
      }
      asked.forEach(samples -> run.cells().accept(samples.cell(name(), traffic)));
    }
  }

  private static void ask(
      List<Samples> asked, String policy, Traffic traffic, List<String> yardsticks) {
    for (String yardstick : yardsticks) {
      if (traffic.knows(yardstick)) {
        asked.add(new Samples(policy, yardstick, "hit rate", CacheFindings::hitRate));
        if (traffic.isUnequal()) {
          asked.add(new Samples(policy, yardstick, "load time saved", CacheFindings::savedRate));
        }
      }
    }
  }

  private static Map<String, CacheFindings> find(
      Traffic traffic, int length, SplittableRandom random) {
    RequestTrace trace = traffic.trace(MODELS, length, random);
    Footprints footprints = traffic.footprints(MODELS, FIT, random);
    Map<String, CacheFindings> found = new HashMap<>();
    POLICIES.forEach((name, made) -> found.put(name, run(trace, footprints, made.apply(trace))));
    return found;
  }

  private static CacheFindings run(
      RequestTrace trace, Footprints footprints, EvictionPolicy policy) {
    int warmUp = (int) (WARM_UP * trace.requests().length);
    return CacheRun.of(trace, footprints, policy, warmUp);
  }

  /** One policy against one yardstick, seed by seed. */
  private record Samples(
      String policy,
      String yardstick,
      String figure,
      Function<CacheFindings, Double> read,
      Pairs pairs) {

    Samples(String policy, String yardstick, String figure, Function<CacheFindings, Double> read) {
      this(policy, yardstick, figure, read, new Pairs());
    }

    void add(Map<String, CacheFindings> found) {
      pairs.add(read(found, policy), read(found, yardstick));
    }

    Cell cell(String bench, Traffic traffic) {
      String what = "%s, %s: %s, vs %s".formatted(traffic.label(), policy, figure, yardstick);
      return new Cell(bench, what, pairs.compare(), "of all", goal(traffic));
    }

    private double read(Map<String, CacheFindings> found, String name) {
      CacheFindings findings = found.get(name);
      if (findings == null) {
        throw new IllegalStateException("nothing was found for " + name);
      }
      return read.apply(findings);
    }

    private @Nullable Goal goal(Traffic traffic) {
      return policy.equals(DEFAULT) ? traffic.goal(yardstick) : null;
    }
  }
}
