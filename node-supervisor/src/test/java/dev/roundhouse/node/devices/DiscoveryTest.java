package dev.roundhouse.node.devices;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.node.devices.Discovery.Platform;
import dev.roundhouse.platform.config.StartRefusedException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DiscoveryTest {
  private static final DeviceSource NVML = source("NVML", "GPU-a", "GPU-b", "GPU-c");
  private static final DeviceSource SMI = source("nvidia-smi", "GPU-d");
  private static final DeviceSource NONE = source("nothing here");

  @Test
  void shouldAskInOrderAndTakeTheFirstThatSaysAnything() {
    Map<String, String> both = Map.of("REACTANT_GPUS", "1,2", "CUDA_VISIBLE_DEVICES", "7");
    assertThat(find(both, "5,", NVML))
        .isEqualTo(new Found(List.of("1", "2"), "REACTANT_GPUS", true));
    assertThat(find(Map.of("CUDA_VISIBLE_DEVICES", "7"), "5,", NVML).gpus()).containsExactly("5");
    assertThat(find(Map.of("CUDA_VISIBLE_DEVICES", "7"), "auto", NVML))
        .isEqualTo(new Found(List.of("7"), "CUDA_VISIBLE_DEVICES", false));
    assertThat(find(Map.of(), "auto", NVML, SMI))
        .isEqualTo(new Found(List.of("GPU-a", "GPU-b", "GPU-c"), "NVML", true));
    assertThat(find(Map.of(), "auto", NONE, SMI).source()).isEqualTo("nvidia-smi");
    assertThat(find(Map.of(), "auto", NONE).onCpu()).isTrue();
  }

  @Test
  void shouldTakeSoManyOfThoseThatThereAre() {
    assertThat(find(Map.of(), "2", NVML).gpus()).containsExactly("GPU-a", "GPU-b");
    assertThat(find(Map.of("REACTANT_GPUS", "0"), "2", NVML).onCpu()).isTrue();
    assertThat(find(Map.of("CUDA_VISIBLE_DEVICES", "4,5"), "1", NVML).gpus()).containsExactly("4");
    assertThat(find(Map.of(), "2", NONE).gpus()).containsExactly("0", "1");
    assertThat(refusal("4", Platform.AUTO, Map.of(), NVML))
        .contains("roundhouse.node.devices.gpus asks for 4 GPUs and NVML has 3");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "3,4|3 4",
        "3,-1,4|3",
        "-1|''",
        "''|''",
        "GPU-x, MIG-y|GPU-x MIG-y",
        "2,2|2",
        "void|''"
      })
  void shouldReadCudaVisibleDevicesAsCudaDoes(String value, String expected) {
    Found found = find(Map.of("CUDA_VISIBLE_DEVICES", value), "auto", NVML);
    assertThat(String.join(" ", found.gpus())).isEqualTo(expected);
  }

  @Test
  void shouldTakeUuidsAndOneNumberInBrackets() {
    assertThat(find(Map.of(), "[1]", NVML).gpus()).containsExactly("1");
    assertThat(find(Map.of(), "GPU-8a5e0000-1111, 0", NVML).gpus())
        .containsExactly("GPU-8a5e0000-1111", "0");
  }

  @ParameterizedTest
  @ValueSource(strings = {"0,0", ",", "one/ two", "-1,2", "1 2 1"})
  void shouldRefuseWhatNamesNoGpuByTheSetting(String value) {
    assertThat(refusal(value, Platform.AUTO, Map.of(), NVML))
        .contains("roundhouse.node.devices.gpus");
    assertThat(refusal("auto", Platform.AUTO, Map.of("REACTANT_GPUS", value), NVML))
        .contains("REACTANT_GPUS");
  }

  @Test
  void shouldRefuseANodeOfGpusWithoutAny() {
    assertThat(refusal("auto", Platform.CUDA, Map.of(), NONE, source("NVML")))
        .contains("platform is cuda and no GPU was found", "nothing here, NVML", "--gpus all");
    assertThat(refusal("auto", Platform.CUDA, Map.of("CUDA_VISIBLE_DEVICES", ""), NVML))
        .contains("CUDA_VISIBLE_DEVICES, which is ''");
    assertThat(refusal("0", Platform.CUDA, Map.of(), NVML)).contains("no GPU was found");
  }

  @Test
  void shouldTakeNoGpuWhereTheCpuIsWanted() {
    Found found = new Discovery(Map.of(), List.of(NVML)).find("auto", Platform.CPU);
    assertThat(found.onCpu()).isTrue();
    assertThat(refusal("2", Platform.CPU, Map.of(), NVML)).contains("asks for GPUs", "is cpu");
  }

  private static Found find(Map<String, String> environment, String gpus, DeviceSource... sources) {
    return new Discovery(environment, List.of(sources)).find(gpus, Platform.AUTO);
  }

  private static String refusal(
      String gpus, Platform platform, Map<String, String> environment, DeviceSource... sources) {
    Discovery discovery = new Discovery(environment, List.of(sources));
    StartRefusedException refusal =
        catchThrowableOfType(StartRefusedException.class, () -> discovery.find(gpus, platform));
    assertThat(refusal).as(gpus).isNotNull();
    return refusal.getMessage() + " " + refusal.action();
  }

  private static DeviceSource source(String name, String... ids) {
    return new DeviceSource() {
      @Override
      public String name() {
        return name;
      }

      @Override
      public List<String> ids() {
        return List.of(ids);
      }
    };
  }
}
