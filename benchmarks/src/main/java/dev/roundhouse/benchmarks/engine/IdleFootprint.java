package dev.roundhouse.benchmarks.engine;

import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.report.Cell;
import dev.roundhouse.benchmarks.report.Goal;
import dev.roundhouse.measure.Comparison;
import dev.roundhouse.measure.Pairs;
import dev.roundhouse.measure.Scratch;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What a model costs that nobody asks: memory, threads, and the time to register it. */
final class IdleFootprint implements Bench {
  /** Ours is counted from here on, when what the JVM itself grows by has been loaded. */
  private static final int OUR_FEW = 1_000;

  private static final int OUR_MANY = 10_000;
  private static final int PEER_FEW = 1;

  /** As many as the peer's threads allow on an ordinary machine. */
  private static final int PEER_MANY = 4_000;

  private static final Goal MEMORY = Goal.atMost(0.1);
  private static final Goal THREADS = Goal.atMost(0);
  private static final double BUDGET_MICROS = 60;

  /** What each further model costs. */
  private record PerModel(double bytes, double threads, double micros) {}

  @Override
  public String name() {
    return "engine-footprint";
  }

  @Override
  public String about() {
    return "memory and threads of an idle model, and its registration, against Triton";
  }

  @Override
  public void run(BenchRun run) throws Exception {
    try (Scratch scratch = Scratch.create()) {
      TritonCore core = Peer.find(run, name(), scratch);
      int rounds = run.quick() ? 2 : 5;
      run.say("%s: %d rounds; ours %d models, the peer's %d", name(), rounds, OUR_MANY, PEER_MANY);
      List<PerModel> ours = new ArrayList<>();
      List<PerModel> theirs = new ArrayList<>();
      for (int i = 0; i < rounds; i++) {
        ours.add(ours(scratch));
        if (core != null) {
          theirs.add(theirs(core));
        }
      }
      report(run, ours, theirs);
    }
  }

  private static PerModel ours(Scratch scratch) throws IOException {
    try (Side side = new OurEngine(scratch).tight(OUR_FEW)) {
      Footprint few = side.footprint();
      Duration took = OurEngine.load(side, OUR_MANY);
      return perModel(few, side.footprint(), took.toNanos() / 1e3, OUR_MANY - OUR_FEW);
    }
  }

  /** Without batching: a batcher is one more thread for each model. */
  private static PerModel theirs(TritonCore core) throws IOException {
    TritonCore.Setup leanest = new TritonCore.Setup(false, false);
    Footprint few;
    try (Side side = core.start(PEER_FEW, leanest)) {
      few = side.footprint();
    }
    try (Side side = core.start(PEER_MANY, leanest)) {
      return perModel(few, side.footprint(), side.start().get("start_us"), PEER_MANY - PEER_FEW);
    }
  }

  private static PerModel perModel(Footprint few, Footprint many, double micros, int models) {
    return new PerModel(
        (double) (many.residentBytes() - few.residentBytes()) / models,
        (double) (many.threads() - few.threads()) / models,
        micros / models);
  }

  private void report(BenchRun run, List<PerModel> ours, List<PerModel> theirs) {
    double ourMicros = median(ours.stream().map(PerModel::micros).toList());
    double threads = median(ours.stream().map(PerModel::threads).toList());
    Comparison budget = compared(ourMicros, BUDGET_MICROS);
    if (theirs.isEmpty()) {
      double bytes = median(ours.stream().map(PerModel::bytes).toList());
      cell(run, "memory, not compared", Comparison.alone(bytes), "bytes/model", null);
      cell(run, "threads, not compared", Comparison.alone(threads), "threads/model", null);
    } else {
      Pairs bytes = new Pairs();
      Pairs micros = new Pairs();
      for (int i = 0; i < ours.size(); i++) {
        bytes.add(ours.get(i).bytes(), theirs.get(i).bytes());
        micros.add(ours.get(i).micros(), theirs.get(i).micros());
      }
      double peerThreads = median(theirs.stream().map(PerModel::threads).toList());
      cell(run, "memory", bytes.compare(), "bytes/model", MEMORY);
      cell(run, "threads", compared(threads, peerThreads), "threads/model", THREADS);
      cell(run, "registration", micros.compare(), "us/model", null);
    }
    cell(run, "registration, vs a budget of 60 us", budget, "us/model", Goal.atMost(1));
  }

  private void cell(
      BenchRun run, String cell, Comparison figures, String unit, @Nullable Goal goal) {
    run.cells().accept(new Cell(name(), "idle model: " + cell, figures, unit, goal));
  }

  private static Comparison compared(double ours, double peer) {
    double ratio = ours / peer;
    return new Comparison(ours, peer, ratio, ratio, ratio);
  }

  private static double median(List<Double> values) {
    return values.stream().sorted().toList().get(values.size() / 2);
  }
}
