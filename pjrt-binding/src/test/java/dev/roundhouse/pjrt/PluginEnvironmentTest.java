package dev.roundhouse.pjrt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.engine.device.DeviceException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class PluginEnvironmentTest {
  private static final Path PLUGIN = Path.of("/opt/plugin.so");
  private static final PluginOptions CUDA = PluginOptions.DEFAULTS.withPlatform(PluginOptions.CUDA);

  private final Map<String, String> inherited = new HashMap<>();

  @Test
  void shouldSetNothingWhenNothingWasAskedFor() {
    assertThat(variables(PluginOptions.DEFAULTS)).isEmpty();
    assertThat(variables(CUDA)).isEmpty();
  }

  @Test
  void shouldSetWhatWasAskedFor() {
    inherited.put("XLA_FLAGS", "--xla_a=1");
    assertThat(
            variables(PluginOptions.DEFAULTS.withXlaFlags(List.of("--xla_b=2")).withCpuThreads(3)))
        .isEqualTo(Map.of("XLA_FLAGS", "--xla_a=1 --xla_b=2", "PJRT_NPROC", "3"));
  }

  @Test
  void shouldForbidTf32OnNvidiasGpusOnly() {
    assertThat(variables(CUDA.withoutTf32())).isEqualTo(Map.of("NVIDIA_TF32_OVERRIDE", "0"));
    assertThat(variables(PluginOptions.DEFAULTS.withoutTf32())).isEmpty();
  }

  @Test
  void shouldRefuseAnEnvironmentThatWantsTf32WhenItIsForbidden() {
    inherited.put("NVIDIA_TF32_OVERRIDE", "0");
    assertThat(variables(CUDA.withoutTf32())).containsEntry("NVIDIA_TF32_OVERRIDE", "0");
    inherited.put("NVIDIA_TF32_OVERRIDE", "1");
    assertThat(variables(CUDA)).isEmpty();
    assertThatThrownBy(() -> variables(CUDA.withoutTf32()))
        .isInstanceOf(DeviceException.class)
        .hasMessageContainingAll("NVIDIA_TF32_OVERRIDE is '1'", "unset it", "numerics auto");
  }

  private Map<String, String> variables(PluginOptions options) {
    return new PluginEnvironment(options, PLUGIN, inherited::get).variables();
  }
}
