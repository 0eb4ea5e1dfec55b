package dev.roundhouse.benchmarks.residency;

import dev.roundhouse.benchmarks.report.Goal;
import dev.roundhouse.simulation.cache.Footprints;
import dev.roundhouse.simulation.cache.RequestTrace;
import dev.roundhouse.simulation.cache.Traces;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/** What is asked for, and how large it is. */
enum Traffic {
  ZIPF_09("Zipf 0.9", Kind.STEADY, 0.9, false),
  ZIPF_11("Zipf 1.1", Kind.STEADY, 1.1, false),
  DRIFT_09("Zipf 0.9 drifting", Kind.DRIFTING, 0.9, false),
  DRIFT_11("Zipf 1.1 drifting", Kind.DRIFTING, 1.1, false),
  AZURE("Azure", Kind.BURSTS, 0, false),
  UNEQUAL_09("Zipf 0.9, unequal", Kind.STEADY, 0.9, true),
  UNEQUAL_11("Zipf 1.1, unequal", Kind.STEADY, 1.1, true),
  UNEQUAL_DRIFT_09("Zipf 0.9 drifting, unequal", Kind.DRIFTING, 0.9, true),
  UNEQUAL_DRIFT_11("Zipf 1.1 drifting, unequal", Kind.DRIFTING, 1.1, true),
  UNEQUAL_AZURE("Azure, unequal", Kind.BURSTS, 0, true);

  private static final double OF_IDEAL = 0.99;
  private static final double OF_MOMENT = 0.96;
  private static final double OF_LRU = 1.3;

  private final String label;
  private final Kind kind;
  private final double exponent;
  private final boolean unequal;

  Traffic(String label, Kind kind, double exponent, boolean unequal) {
    this.label = label;
    this.kind = kind;
    this.exponent = exponent;
    this.unequal = unequal;
  }

  String label() {
    return label;
  }

  boolean isUnequal() {
    return unequal;
  }

  RequestTrace trace(int models, int length, SplittableRandom random) {
    return switch (kind) {
      case STEADY -> Traces.zipf(models, exponent, length, random);
      case DRIFTING -> Traces.drifting(models, exponent, length, random);
      case BURSTS -> Traces.azure(models, length, random);
    };
  }

  Footprints footprints(int models, int fit, SplittableRandom random) {
    return unequal ? Footprints.unequal(models, fit, random) : Footprints.equal(models, fit);
  }

  /** False where a yardstick says nothing, or the same as another. */
  boolean knows(String yardstick) {
    return switch (yardstick) {
      case HitRates.IDEAL -> kind != Kind.DRIFTING;
      case HitRates.MOMENT -> kind != Kind.STEADY;
      default -> true;
    };
  }

  /** What the default policy is to reach against a yardstick. */
  @Nullable Goal goal(String yardstick) {
    return switch (yardstick) {
      case HitRates.IDEAL -> kind == Kind.STEADY ? Goal.atLeast(OF_IDEAL) : null;
      case HitRates.MOMENT -> kind == Kind.DRIFTING ? Goal.atLeast(OF_MOMENT) : null;
      case HitRates.LRU -> kind == Kind.STEADY && exponent < 1 ? Goal.atLeast(OF_LRU) : null;
      default -> null;
    };
  }

  private enum Kind {
    /** The same popularity for ever. */
    STEADY,
    /** Popular models become rare and rare ones popular. */
    DRIFTING,
    /** Most models almost never, and half of them in bursts. */
    BURSTS
  }
}
