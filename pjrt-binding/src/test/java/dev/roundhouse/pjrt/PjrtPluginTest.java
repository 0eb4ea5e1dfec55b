package dev.roundhouse.pjrt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.engine.device.DeviceException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PjrtPluginTest {
  private final PjrtPlugin plugin = PjrtPlugin.load(PluginOptions.DEFAULTS);

  @Test
  void shouldTellItsVersions() {
    assertThat(plugin.apiVersion()).matches("0\\.\\d+");
    assertThat(plugin.attributes())
        .containsKey("xla_version")
        .hasEntrySatisfying(
            "stablehlo_current_version",
            version -> assertThat(version).matches("\\d+\\.\\d+\\.\\d+"))
        .hasEntrySatisfying(
            "stablehlo_minimum_version",
            version -> assertThat(version).matches("\\d+\\.\\d+\\.\\d+"));
  }

  @Test
  void shouldBeLoadedOnce() {
    assertThat(PjrtPlugin.load(PluginOptions.DEFAULTS.withPath(plugin.path()))).isSameAs(plugin);
  }

  @Test
  void shouldRefuseAnEnvironmentThatComesTooLate() {
    PluginOptions late =
        PluginOptions.DEFAULTS
            .withPath(plugin.path())
            .withXlaFlags(List.of("--xla_cpu_use_fusion_emitters=false"))
            .withCpuThreads(1);
    assertThatThrownBy(() -> PjrtPlugin.load(late))
        .isInstanceOf(DeviceException.class)
        .hasMessageContaining("loaded already")
        .hasMessageContaining("PJRT_NPROC");
  }

  @Test
  void shouldRefuseAFunctionTableShorterThanOurs() {
    long[] same = {0, 81, 1000, 1000, 81};
    long[] newer = {0, 115, 1200, 1000, 81};
    long[] older = {0, 54, 900, 1000, 81};
    long[] incompatible = {1, 0, 1200, 1000, 81};
    assertThat(PjrtPlugin.checkedVersion(plugin.path(), same)).isEqualTo("0.81");
    assertThat(PjrtPlugin.checkedVersion(plugin.path(), newer)).isEqualTo("0.115");
    for (long[] refused : new long[][] {older, incompatible}) {
      assertThatThrownBy(() -> PjrtPlugin.checkedVersion(plugin.path(), refused))
          .isInstanceOf(DeviceException.class)
          .hasMessageContaining("0.81 or newer");
    }
  }

  @Test
  void shouldRefuseAFileThatIsNoPlugin(@TempDir Path folder) throws IOException {
    Path text = Files.writeString(folder.resolve("text.so"), "not a library");
    assertThatThrownBy(() -> PjrtPlugin.load(PluginOptions.DEFAULTS.withPath(text)))
        .isInstanceOf(DeviceException.class)
        .hasMessageContaining("text.so");
  }
}
