package dev.roundhouse.engine.hostweights;

import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.hostweights.HostWeightsOptions.Sharing;
import dev.roundhouse.engine.hostweights.SharedRegions.Step;
import dev.roundhouse.engine.time.NanoClock;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/**
 * A worker of its own process that serves one model. Says on its output what it does, and stops at
 * one step until it is killed or told, by a line, to go on; then again when it has the weights.
 */
final class SharedHostWeightsWorker {
  static final int SIZE = 3_000_000;
  static final FakeWeights WEIGHTS =
      new FakeWeights("abc", FakeWeights.bytes(1, SIZE), FakeWeights.bytes(2, 77));

  private SharedHostWeightsWorker() {}

  /**
   * @param args the folder of shared memory, and the step to stop at or {@code none}
   */
  public static void main(String[] args) throws IOException {
    HostWeightsOptions options =
        new HostWeightsOptions(
            HostWeightsKind.KEPT,
            Long.MAX_VALUE,
            true,
            Optional.of(new Sharing(Path.of(args[0]), Sharing.DEFAULT_MODE)));
    SimulatedDevice device =
        new SimulatedDevice(
            SimulatedDeviceOptions.instant((program, in, out) -> {}), NanoClock.SYSTEM);
    SharedRegions.Watcher watcher =
        step -> {
          if (step.name().equals(args[1])) {
            stopAt(step);
          }
        };
    try (HostWeightStore store =
            new HostWeightStore(options, device, Duration.ofMinutes(1), Duration.ZERO, watcher);
        HostWeights hostWeights = WEIGHTS.openIn(store, "m");
        Lease lease = hostWeights.lease()) {
      WEIGHTS.assertHeldBy(lease);
      String how = hostWeights.report().shared() ? "shared" : "private";
      System.out.println(how + " read " + WEIGHTS.reads);
      System.in.read();
      // Whatever others did meanwhile.
      WEIGHTS.assertHeldBy(lease);
    }
    System.out.println("left");
  }

  private static void stopAt(Step step) {
    System.out.println("at " + step);
    try {
      System.in.read();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
