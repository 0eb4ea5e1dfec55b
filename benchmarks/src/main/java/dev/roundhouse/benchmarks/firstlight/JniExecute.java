package dev.roundhouse.benchmarks.firstlight;

import dev.roundhouse.benchmarks.Bench;
import dev.roundhouse.benchmarks.BenchRun;
import dev.roundhouse.benchmarks.measure.Pairs;
import dev.roundhouse.benchmarks.measure.Scratch;
import dev.roundhouse.benchmarks.report.Cell;
import dev.roundhouse.benchmarks.report.Goal;
import dev.roundhouse.pjrt.PjrtDevice;
import dev.roundhouse.pjrt.PjrtDeviceOptions;
import dev.roundhouse.pjrt.PjrtPlugin;
import dev.roundhouse.pjrt.PluginOptions;
import java.io.IOException;
import java.nio.file.Path;
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
      Path plugin = PjrtPlugin.load(options).path();
      measure(run, scratch, device, plugin, threads, new TinyProgram(2), TINY_GOAL);
      measure(run, scratch, device, plugin, threads, new TinyProgram(100), null);
    }
  }

  private void measure(
      BenchRun run,
      Scratch scratch,
      PjrtDevice device,
      Path plugin,
      int threads,
      TinyProgram program,
      @Nullable Goal goal)
      throws IOException {
    int pairs = run.quick() ? 5 : 41;
    int sampleMillis = run.quick() ? 50 : 100;
    int warmUpCalls = run.quick() ? 60_000 : 300_000;
    String cell = program.argumentCount() + " arguments";
    try (JavaCalls ours = new JavaCalls(device, program);
        CppCalls peer = CppCalls.start(run, scratch.path(), plugin, program, threads)) {
      run.say("%s, %s: warming up", name(), cell);
      ours.run(warmUpCalls);
      int calls = (int) Math.max(1_000, sampleMillis * 1e6 / peer.run(warmUpCalls).cpuNanos());
      run.say("%s, %s: %d pairs of %d calls", name(), cell, pairs, calls);
      Pairs wall = new Pairs();
      Pairs cpu = new Pairs();
      for (int i = 0; i < pairs; i++) {
        CallCost our = ours.run(calls);
        CallCost cpp = peer.run(calls);
        wall.add(our.wallNanos(), cpp.wallNanos());
        cpu.add(our.cpuNanos() / 1000, cpp.cpuNanos() / 1000);
      }
      run.cells().accept(new Cell(name(), cell, wall.compare(), "ns/call", goal));
      run.cells().accept(new Cell(name(), cell + ", CPU", cpu.compare(), "CPU us/call", null));
    }
  }
}
