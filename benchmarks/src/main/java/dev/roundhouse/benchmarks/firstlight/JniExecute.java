package dev.roundhouse.benchmarks.firstlight;

import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.report.Cell;
import dev.roundhouse.benchmarks.report.Goal;
import dev.roundhouse.measure.Scratch;
import dev.roundhouse.measure.turns.CallTurns;
import dev.roundhouse.pjrt.PjrtDevice;
import dev.roundhouse.pjrt.PjrtDeviceOptions;
import dev.roundhouse.pjrt.PjrtPlugin;
import dev.roundhouse.pjrt.PluginOptions;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * Execute, await and free of a tiny program through the binding, against the same PJRT calls made
 * by C++: same plugin, same program, same options, same size of thread pool.
 */
public final class JniExecute implements Bench {
  private static final Goal TINY_GOAL = Goal.atMost(1.25);

  @Override
  public String name() {
    return "jni-execute";
  }

  @Override
  public String about() {
    return "execute + await + free of a tiny program through JNI, against C++";
  }

  @Override
  public void run(BenchRun run) throws Exception {
    int threads = Runtime.getRuntime().availableProcessors();
    PluginOptions options = PluginOptions.DEFAULTS.withCpuThreads(threads);
    run.say("%s: PJRT_NPROC=%d on both sides; the calling vCPU is hot", name(), threads);
    try (Scratch scratch = Scratch.create();
        PjrtDevice device = PjrtDevice.open(PjrtDeviceOptions.DEFAULTS.withPlugin(options))) {
      CallTurns.Peer peer =
          new CallTurns.Peer(
              run.root().pjrtFloor(),
              PjrtPlugin.load(options).path(),
              device.description().platform(),
              threads,
              scratch.path());
      measure(run, peer, device, 2, TINY_GOAL);
      measure(run, peer, device, 100, null);
    }
  }

  private void measure(
      BenchRun run, CallTurns.Peer peer, PjrtDevice device, int arguments, @Nullable Goal goal)
      throws IOException {
    CallTurns.Plan plan =
        run.quick() ? new CallTurns.Plan(5, 50, 60_000) : new CallTurns.Plan(41, 100, 300_000);
    String cell = arguments + " arguments";
    run.say("%s, %s: %d pairs of %d ms", name(), cell, plan.pairs(), plan.sampleMillis());
    CallTurns.Costs costs = CallTurns.measure(device, peer, arguments, plan);
    run.cells().accept(new Cell(name(), cell, costs.wallNanos(), "ns/call", goal));
    run.cells().accept(new Cell(name(), cell + ", CPU", costs.cpuMicros(), "CPU us/call", null));
  }
}
