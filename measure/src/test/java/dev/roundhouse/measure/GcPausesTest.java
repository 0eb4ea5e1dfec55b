package dev.roundhouse.measure;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class GcPausesTest {
  @TempDir Path folder;

  @Test
  void shouldAddUpPausesAndLeaveConcurrentWorkOutWhenReadingALog() throws IOException {
    Path log = folder.resolve("gc");
    Files.writeString(
        log,
        """
        [0.006s][info][gc] Using G1
        [1.102s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 300M->4M(512M) 1.500ms
        [2.200s][info][gc] GC(1) Concurrent Mark Cycle 12.000ms
        [3.300s][info][gc] GC(2) Pause Young (Normal) (G1 Evacuation Pause) 304M->4M(512M) 2.250ms
        """);
    assertThat(GcPauses.read(log)).isEqualTo(new GcPauses(2, 3.75, 2.25));
  }
}
