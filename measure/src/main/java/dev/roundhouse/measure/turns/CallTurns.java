package dev.roundhouse.measure.turns;

import dev.roundhouse.engine.device.Device;
import dev.roundhouse.measure.Comparison;
import dev.roundhouse.measure.Pairs;
import java.io.IOException;
import java.nio.file.Path;

/**
 * Execute, await and free of a tiny program through the binding, in turns with the same PJRT calls
 * made by C++: same plugin, same program, same options, same size of thread pool.
 */
public final class CallTurns {
  private CallTurns() {}

  /**
   * How the C++ side is started.
   *
   * @param floor the program {@code pjrt_floor}
   * @param platform {@code cpu} or another; says which options the plugin's client is created with
   * @param pluginThreads size of the CPU plugin's thread pool
   * @param scratch folder for its program and its log
   */
  public record Peer(Path floor, Path plugin, String platform, int pluginThreads, Path scratch) {}

  /** How long to measure. */
  public record Plan(int pairs, int sampleMillis, int warmUpCalls) {}

  /** What one call takes; CPU is that of the whole process. */
  public record Costs(Comparison wallNanos, Comparison cpuMicros) {}

  /**
   * Measures on the calling thread.
   *
   * @param device borrowed
   * @param argumentCount of the program, 2 or more
   * @throws IOException when the C++ program fails, with its last lines
   */
  public static Costs measure(Device device, Peer peer, int argumentCount, Plan plan)
      throws IOException {
    TinyProgram program = new TinyProgram(argumentCount);
    try (JavaCalls ours = new JavaCalls(device, program);
        CppCalls floor = CppCalls.start(peer, program)) {
      ours.run(plan.warmUpCalls());
      double floorNanos = floor.run(plan.warmUpCalls()).cpuNanos();
      int calls = (int) Math.max(1_000, plan.sampleMillis() * 1e6 / floorNanos);
      Pairs wall = new Pairs();
      Pairs cpu = new Pairs();
      for (int i = 0; i < plan.pairs(); i++) {
        CallCost our = ours.run(calls);
        CallCost cpp = floor.run(calls);
        wall.add(our.wallNanos(), cpp.wallNanos());
        cpu.add(our.cpuNanos() / 1000, cpp.cpuNanos() / 1000);
      }
      return new Costs(wall.compare(), cpu.compare());
    }
  }
}
