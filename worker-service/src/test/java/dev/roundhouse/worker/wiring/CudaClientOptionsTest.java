package dev.roundhouse.worker.wiring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.pjrt.ClientOptions;
import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.worker.config.CudaProperties;
import dev.roundhouse.worker.config.CudaProperties.Allocator;
import dev.roundhouse.worker.config.DeviceProperties;
import dev.roundhouse.worker.config.DeviceProperties.Cpu;
import dev.roundhouse.worker.config.DeviceProperties.Weights;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class CudaClientOptionsTest {
  private static final CudaProperties NONE = cuda(List.of());
  private static final CudaProperties ALL =
      new CudaProperties("/e", 0.5, false, Allocator.CUDA_ASYNC, List.of(), false);

  @Test
  void shouldGiveEverySettingTheNameAndTypeThatThePluginKnows() {
    assertThat(CudaClientOptions.of(device("cuda", 0, ALL, Map.of())))
        .isEqualTo(
            ClientOptions.NONE
                .with("memory_fraction", 0.5f)
                .with("preallocate", false)
                .with("allocator", "cuda_async")
                .with("should_stage_host_to_device_transfers", false));
  }

  @Test
  void shouldKeepOptionsByThePluginsOwnNames() {
    assertThat(CudaClientOptions.of(device("cuda", 0, NONE, Map.of("preallocate", "true"))))
        .isEqualTo(ClientOptions.NONE.with("preallocate", true));
    assertThat(CudaClientOptions.of(device("cpu", 0, NONE, Map.of("node_id", "1"))))
        .isEqualTo(ClientOptions.NONE.with("node_id", 1));
  }

  @Test
  void shouldCountTheOrdinalInTheListThatIsGiven() {
    DeviceProperties typed = device("cuda", 1, cuda(List.of(5, 4)), Map.of());
    assertThat(CudaClientOptions.of(typed))
        .isEqualTo(ClientOptions.NONE.with("visible_devices", new long[] {5, 4}));
    DeviceProperties raw = device("cuda", 1, NONE, Map.of("visible_devices", "[5,4]"));
    assertThat(CudaClientOptions.of(raw))
        .isEqualTo(ClientOptions.NONE.with("visible_devices", new long[] {5, 4}));
    refused(device("cuda", 2, cuda(List.of(5, 4)), Map.of()), "ordinal is 2", "0 to 1");
    refused(device("cuda", 0, cuda(List.of(5, 5)), Map.of()), "[5, 5]", "twice");
  }

  @Test
  void shouldRefuseWhatIsGivenTwice() {
    Map<String, String> raw =
        Map.of(
            "memory_fraction", "0.5",
            "preallocate", "false",
            "allocator", "bfc",
            "should_stage_host_to_device_transfers", "true",
            "visible_devices", "[1]");
    CudaProperties each = new CudaProperties("", 0.5, true, Allocator.BFC, List.of(1), true);
    List<CudaProperties> settings =
        List.of(
            new CudaProperties("", each.memoryFraction(), null, null, List.of(), null),
            new CudaProperties("", null, each.preallocate(), null, List.of(), null),
            new CudaProperties("", null, null, each.allocator(), List.of(), null),
            new CudaProperties("", null, null, null, each.visibleDevices(), null),
            new CudaProperties("", null, null, null, List.of(), each.stageTransfers()));
    for (CudaProperties setting : settings) {
      refused(
          device("cuda", 0, setting, raw),
          "roundhouse.worker.device.cuda." + setting.set().getFirst(),
          "roundhouse.worker.device.options.",
          "the same thing");
    }
  }

  @Test
  void shouldRefuseSettingsOfAnotherPlatform() {
    refused(
        device("cpu", 0, ALL, Map.of()),
        "roundhouse.worker.device.cuda.python-environment",
        "platform is 'cpu'");
    refused(device("cpu", 0, cuda(List.of(0)), Map.of()), "cuda.visible-devices");
    refused(device("cuda", 0, NONE, Map.of(), 2), "device.cpu.threads", "platform is 'cuda'");
  }

  private static void refused(DeviceProperties device, String... texts) {
    assertThatThrownBy(() -> CudaClientOptions.of(device))
        .isInstanceOf(StartRefusedException.class)
        .hasMessageContainingAll(texts);
  }

  private static CudaProperties cuda(List<Integer> visibleDevices) {
    return new CudaProperties("", null, null, null, visibleDevices, null);
  }

  private static DeviceProperties device(
      String platform, int ordinal, CudaProperties cuda, Map<String, String> options) {
    return device(platform, ordinal, cuda, options, null);
  }

  private static DeviceProperties device(
      String platform,
      int ordinal,
      CudaProperties cuda,
      Map<String, String> options,
      @Nullable Integer threads) {
    return new DeviceProperties(
        platform, "", ordinal, new Cpu(Weights.ALIAS, threads), cuda, options, List.of());
  }
}
