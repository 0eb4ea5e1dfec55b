package dev.roundhouse.benchmarks.engine;

import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.report.Cell;
import dev.roundhouse.benchmarks.report.Goal;
import dev.roundhouse.measure.Comparison;
import dev.roundhouse.measure.Scratch;
import dev.roundhouse.measure.Spinners;
import dev.roundhouse.measure.VcpuCondition;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** How long one request takes, from the caller and back to it, when it is the only one. */
final class CoreLatency implements Bench {
  private static final Goal HALF = Goal.atMost(0.5);

  @Override
  public String name() {
    return "engine-latency";
  }

  @Override
  public String about() {
    return "one request at a time against Triton, with vCPUs asleep and awake";
  }

  @Override
  public void run(BenchRun run) throws Exception {
    try (Scratch scratch = Scratch.create()) {
      TritonCore core = Peer.find(run, name(), scratch);
      run.say("%s: starting and warming up", name());
      try (Side ours = new OurEngine(scratch).warm(1, run.quick() ? 500_000 : 3_000_000)) {
        for (VcpuCondition condition : VcpuCondition.values()) {
          Path spinner = run.root().idleSpinner();
          try (Spinners spinners = Spinners.hold(condition, spinner, scratch.path())) {
            measure(run, core, ours, "depth 1, " + condition);
          }
        }
      }
    }
  }

  private void measure(BenchRun run, @Nullable TritonCore core, Side ours, String cell)
      throws IOException {
    if (core == null) {
      report(run, cell, turns(run, ours.fastest(1).side(), null));
      return;
    }
    TritonCore.Choice peer = core.fastest(1, 1);
    try (Side theirs = peer.side()) {
      Side our = ours.fastest(1).side();
      run.say(
          "%s, %s: the peer is fastest with %s; callers look for %d us (ours), %d us",
          name(), cell, peer.setup(), our.spinMicros(), theirs.spinMicros());
      report(run, cell, turns(run, our, theirs));
    }
  }

  private static Turns turns(BenchRun run, Side ours, @Nullable Side peer) throws IOException {
    Duration sample = Duration.ofMillis(run.quick() ? 300 : 1000);
    return Turns.take(ours, peer, 1, run.quick() ? 5 : 11, sample);
  }

  private void report(BenchRun run, String cell, Turns turns) {
    Comparison p50 = turns.compare(LoadSample::p50Micros);
    Comparison cpu = turns.compare(LoadSample::cpuMicrosPerRequest);
    String suffix = p50.isAlone() ? ", not compared" : "";
    run.cells().accept(new Cell(name(), cell + ": p50" + suffix, p50, "us", HALF));
    run.cells().accept(new Cell(name(), cell + ": CPU" + suffix, cpu, "CPU us/request", null));
  }
}
