package dev.roundhouse.benchmarks.engine;

import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.measure.PeerAbsentException;
import dev.roundhouse.measure.Scratch;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** Finds the peer for a bench that goes on without it. */
final class Peer {
  private Peer() {}

  /** The Triton core; null, and said so, when it cannot run here. */
  static @Nullable TritonCore find(BenchRun run, String bench, Scratch scratch) throws IOException {
    try {
      return TritonCore.find(run.root(), scratch);
    } catch (PeerAbsentException absent) {
      run.say("%s: ours alone, not compared: %s", bench, absent.reason());
      return null;
    }
  }
}
