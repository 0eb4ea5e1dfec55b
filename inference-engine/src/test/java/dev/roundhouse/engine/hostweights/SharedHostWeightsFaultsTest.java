package dev.roundhouse.engine.hostweights;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.hostweights.HostWeightsOptions.Sharing;
import dev.roundhouse.engine.hostweights.SharedRegions.Step;
import dev.roundhouse.engine.time.ManualClock;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Workers that are processes of their own, killed where it hurts. */
@Tag("slow")
class SharedHostWeightsFaultsTest {
  private final List<Worker> workers = new ArrayList<>();
  private Path memory = Path.of("/none");

  @BeforeEach
  void makeFolder() throws IOException {
    memory = Files.createTempDirectory(Sharing.SHARED_MEMORY, "host-weights-test-");
  }

  @AfterEach
  void removeFolder() throws Exception {
    for (Worker worker : workers) {
      worker.kill();
    }
    for (Path path : regions()) {
      Files.delete(path);
    }
    Files.delete(memory);
  }

  @ParameterizedTest
  @EnumSource(Step.class)
  void shouldServeRightBytesWhenAWorkerIsKilledAtAnyStep(Step step) throws Exception {
    Worker killed = start(step.name());
    assertThat(killed.line()).isEqualTo("at " + step);
    // Opens its store while the first is alive, so that no sweep helps it.
    Worker waiting = start(Step.OPENED.name());
    assertThat(waiting.line()).isEqualTo("at OPENED");
    killed.kill();
    waiting.goOn();
    boolean complete = step.compareTo(Step.READY) >= 0;
    assertThat(waiting.outcome()).isEqualTo(complete ? "shared read 0" : "shared read 1");
    Worker third = start("none");
    assertThat(third.line()).as("joins").isEqualTo("shared read 0");
    assertThat(regions()).hasSize(1);
    third.goOn();
    assertThat(third.line()).isEqualTo("left");
    assertThat(regions()).as("still used").hasSize(1);
    waiting.goOn();
    assertThat(waiting.line()).isEqualTo("left");
    assertThat(regions()).isEmpty();
  }

  @Test
  void shouldSweepAtTheNextStartWhatAKilledWorkerLeft() throws Exception {
    for (Step step : List.of(Step.ALLOCATED, Step.SHARED)) {
      Worker killed = start(step.name());
      assertThat(killed.line()).isEqualTo("at " + step);
      killed.kill();
      assertThat(regions()).hasSize(1);
      SimulatedDevice device =
          new SimulatedDevice(
              SimulatedDeviceOptions.instant((program, in, out) -> {}), new ManualClock(0));
      HostWeightsOptions options =
          new HostWeightsOptions(
              HostWeightsKind.KEPT,
              Long.MAX_VALUE,
              true,
              Optional.of(new Sharing(memory, Sharing.DEFAULT_MODE)));
      new HostWeightStore(options, device).close();
      assertThat(regions()).isEmpty();
    }
  }

  @Test
  void shouldReadOnceWhenSeveralWorkersRace() throws Exception {
    for (int round = 0; round < 3; round++) {
      List<Worker> racing = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        racing.add(start(Step.OPENED.name()));
      }
      for (Worker worker : racing) {
        assertThat(worker.line()).isEqualTo("at OPENED");
      }
      for (Worker worker : racing) {
        worker.goOn();
      }
      List<String> outcomes = new ArrayList<>();
      for (Worker worker : racing) {
        outcomes.add(worker.outcome());
      }
      assertThat(outcomes)
          .containsExactlyInAnyOrder(
              "shared read 1", "shared read 0", "shared read 0", "shared read 0");
      for (Worker worker : racing) {
        worker.goOn();
      }
      for (Worker worker : racing) {
        assertThat(worker.line()).isEqualTo("left");
      }
      assertThat(regions()).isEmpty();
    }
  }

  private List<Path> regions() throws IOException {
    try (Stream<Path> files = Files.list(memory)) {
      return files.toList();
    }
  }

  private Worker start(String step) throws IOException {
    Worker worker = new Worker(memory, step);
    workers.add(worker);
    return worker;
  }

  private static final class Worker {
    private final Process process;
    private final BufferedReader output;

    Worker(Path memory, String step) throws IOException {
      process =
          new ProcessBuilder(
                  Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                  "--enable-native-access=ALL-UNNAMED",
                  "-XX:+UseSerialGC",
                  "-XX:TieredStopAtLevel=1",
                  "-cp",
                  System.getProperty("java.class.path"),
                  SharedHostWeightsWorker.class.getName(),
                  memory.toString(),
                  step)
              .redirectError(ProcessBuilder.Redirect.DISCARD)
              .start();
      output = process.inputReader();
    }

    /** What it says next; {@code ended} when it has nothing more to say. */
    String line() throws IOException {
      String line = output.readLine();
      return line == null ? "ended" : line;
    }

    /** What becomes of one that is at OPENED, where it stops at every further attempt. */
    String outcome() throws IOException {
      String line = line();
      while (line.equals("at " + Step.OPENED)) {
        goOn();
        line = line();
      }
      return line;
    }

    void goOn() throws IOException {
      process.getOutputStream().write('\n');
      process.getOutputStream().flush();
    }

    /** With SIGKILL: it runs nothing more. */
    void kill() throws InterruptedException {
      process.destroyForcibly().waitFor();
    }
  }
}
