package dev.roundhouse.benchmarks.engine;

import dev.roundhouse.measure.Comparison;
import dev.roundhouse.measure.Pairs;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/** The samples of two sides that took turns; or of ours alone. */
final class Turns {
  private final List<LoadSample> ours = new ArrayList<>();
  private final List<LoadSample> theirs = new ArrayList<>();

  private Turns() {}

  /** Runs the sides one after the other, as often as asked. */
  static Turns take(Side our, @Nullable Side peer, int depth, int rounds, Duration sample)
      throws IOException {
    Turns turns = new Turns();
    for (int i = 0; i < rounds; i++) {
      turns.ours.add(our.run(depth, sample));
      if (peer != null) {
        turns.theirs.add(peer.run(depth, sample));
      }
    }
    return turns;
  }

  Comparison compare(ToDoubleFunction<LoadSample> figure) {
    if (theirs.isEmpty()) {
      double[] sorted = ours.stream().mapToDouble(figure).sorted().toArray();
      return Comparison.alone(sorted[sorted.length / 2]);
    }
    Pairs pairs = new Pairs();
    for (int i = 0; i < ours.size(); i++) {
      pairs.add(figure.applyAsDouble(ours.get(i)), figure.applyAsDouble(theirs.get(i)));
    }
    return pairs.compare();
  }
}
