package dev.roundhouse.worker.wiring;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;

class CacheFileTest {

  @Test
  void shouldLieInTheCacheDirectoryUnlessNamed() {
    Map<String, String> shared = Map.of("XDG_CACHE_HOME", "/x");
    Map<String, String> own = Map.of("XDG_CACHE_HOME", "/x", "ROUNDHOUSE_CACHE", "/own");
    CacheFile costs = CacheFile.COSTS;

    assertThat(costs.of("auto", own)).contains(Path.of("/own/costs.json"));
    assertThat(costs.of("auto", shared)).contains(Path.of("/x/roundhouse/costs.json"));
    assertThat(costs.of("auto", Map.of("HOME", "/h", "XDG_CACHE_HOME", "")))
        .contains(Path.of("/h/.cache/roundhouse/costs.json"));
    assertThat(costs.of("auto", Map.of())).isEmpty();
    assertThat(costs.of("/c/costs", own)).contains(Path.of("/c/costs"));
    assertThat(costs.of("none", own)).isEmpty();
    assertThat(CacheFile.EXECUTABLES.of("auto", own)).contains(Path.of("/own/executables"));
  }

  @Test
  void shouldKeepDigestsOfWeightsBesidePrograms() {
    Map<String, String> own = Map.of("ROUNDHOUSE_CACHE", "/own");

    assertThat(CacheFile.weightDigests("auto", own)).contains(Path.of("/own/weight-digests"));
    assertThat(CacheFile.weightDigests("/c", own)).contains(Path.of("/c/weight-digests"));
    assertThat(CacheFile.weightDigests("none", own)).isEmpty();
  }
}
