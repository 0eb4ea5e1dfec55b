package dev.roundhouse.engine.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TestEngine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CostStoreTest {
  private static final long MILLIS = 1_000_000;

  @TempDir Path folder;

  @Test
  void shouldKnowAfterARestartWhatRunsCost() {
    serve(20 * MILLIS, 3);
    // This process has measured its warm-up only, twice 10 ms; each is one part in five of the
    // mean.
    double afterOne = 0.2 * 10 * MILLIS + 0.8 * 20 * MILLIS;
    assertThat(meanAfterRestart(10 * MILLIS))
        .isCloseTo(0.2 * 10 * MILLIS + 0.8 * afterOne, within(1.0));
  }

  @Test
  void shouldForgetTheCostOfAProgramThatHasChanged() {
    serve(20 * MILLIS, 3);
    TestBundle.doubling(5, 4).write(folder, "model");
    assertThat(meanAfterRestart(10 * MILLIS)).isEqualTo(10 * MILLIS);
  }

  @Test
  void shouldStartWithoutAFileThatMakesNoSense() throws IOException {
    Files.createDirectories(file().getParent());
    for (String nonsense :
        new String[] {
          "",
          "{",
          "[]",
          "{\"device\": 3}",
          "{\"device\": \"simulated / Roundhouse simulated device\", \"programs\": {\"model/0/4\": null}}",
          "{\"device\": \"simulated / Roundhouse simulated device\", \"programs\": {\"model/0/4\": {\"meanNanos\": -1}}}"
        }) {
      TestBundle.doubling(2, 4).write(folder, "model");
      Files.writeString(file(), nonsense);
      assertThat(meanAfterRestart(10 * MILLIS)).as(nonsense).isEqualTo(10 * MILLIS);
    }
  }

  @Test
  void shouldServeWhenTheFileCannotBeWritten() throws IOException {
    Files.createDirectories(file()); // a folder stands in its way
    serve(20 * MILLIS, 1);
    assertThat(meanAfterRestart(10 * MILLIS)).isEqualTo(10 * MILLIS);
  }

  private void serve(long runNanos, int requests) {
    TestBundle.doubling(2, 4).write(folder, "model");
    TestEngine engine = open(runNanos);
    for (int i = 0; i < requests; i++) {
      engine.submit("model", Floats.input("x", new long[] {1, 2}, 1, 2));
      engine.run();
    }
    engine.assertNothingLeaks();
  }

  private double meanAfterRestart(long runNanos) {
    TestEngine engine = open(runNanos);
    double mean = engine.engine().report("model").orElseThrow().programs().getFirst().meanNanos();
    engine.assertNothingLeaks();
    return mean;
  }

  private TestEngine open(long runNanos) {
    TestEngine engine =
        new TestEngine(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE).withExecutionNanos(p -> runNanos),
            EngineOptions.builder().costFile(file()).build());
    assertThat(engine.load(folder.resolve("model")).reason()).isEmpty();
    return engine;
  }

  private Path file() {
    return folder.resolve("cache/costs.json");
  }
}
