package dev.roundhouse.worker.wiring;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;

class CostFileTest {

  @Test
  void shouldLieInTheCacheDirectoryUnlessNamed() {
    Map<String, String> shared = Map.of("XDG_CACHE_HOME", "/x");
    Map<String, String> own = Map.of("XDG_CACHE_HOME", "/x", "ROUNDHOUSE_CACHE", "/own");

    assertThat(CostFile.of("auto", own)).contains(Path.of("/own/costs.json"));
    assertThat(CostFile.of("auto", shared)).contains(Path.of("/x/roundhouse/costs.json"));
    assertThat(CostFile.of("auto", Map.of("HOME", "/h", "XDG_CACHE_HOME", "")))
        .contains(Path.of("/h/.cache/roundhouse/costs.json"));
    assertThat(CostFile.of("auto", Map.of())).isEmpty();
    assertThat(CostFile.of("/c/costs", own)).contains(Path.of("/c/costs"));
    assertThat(CostFile.of("none", own)).isEmpty();
  }
}
