package dev.roundhouse.engine.model;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TestEngine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A bundle that somebody has begun to copy over one that serves, up to any byte of any file. */
class HalfWrittenBundleTest {
  private static final int WEIGHT_BYTES = 64;

  private final TestEngine engine =
      new TestEngine(SimulatedDeviceOptions.instant(TestBundle.DOUBLE), 1024);

  @TempDir private Path repository;

  @AfterEach
  void shouldLeaveNothingOpenAndNothingOnTheDevice() {
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  @Test
  void shouldServeOnAndNameTheBundleWhereverAFileEnds() throws IOException {
    Path folder = TestBundle.weighted(WEIGHT_BYTES).write(repository, "m");
    assertThat(engine.load(folder).isReady()).isTrue();
    for (Path file : files(folder)) {
      byte[] whole = Files.readAllBytes(file);
      // Without the last byte, a manifest lacks a line end and says the same.
      int longest = file.endsWith("manifest.yaml") ? whole.length - 2 : whole.length - 1;
      for (int length = 0; length <= longest; length++) {
        Files.write(file, Arrays.copyOf(whole, length));
        refuses(folder, "%s of %d bytes".formatted(file.getFileName(), length));
      }
      Files.delete(file);
      refuses(folder, "no " + file.getFileName());
      Files.write(file, whole);
    }
    engine.load(folder);
    assertThat(reason()).isEmpty();
  }

  private void refuses(Path folder, String what) {
    engine.load(folder);
    assertThat(reason()).as(what).contains("still serves");
    serves();
  }

  private String reason() {
    return engine.engine().model("m", "1").orElseThrow().reason();
  }

  private void serves() {
    Submission request = engine.submit("m", Floats.input("x", new long[] {1, 2}, 1, 1));
    engine.run();
    assertThat(Floats.of(engine.completed(request).outputs().getFirst())).containsExactly(2, 2);
  }

  private static List<Path> files(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.sorted().toList();
    }
  }
}
