package dev.roundhouse.worker.wiring;

import dev.roundhouse.pjrt.ClientOptions;
import dev.roundhouse.pjrt.PluginOptions;
import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.worker.config.CudaProperties;
import dev.roundhouse.worker.config.DeviceProperties;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;

/**
 * The settings of {@code cuda} under the names of the plugin's client, beside those that the
 * operator gives by these names.
 */
final class CudaClientOptions {
  private static final String DEVICE = "roundhouse.worker.device.";
  private static final String VISIBLE_DEVICES = "visible_devices";

  private CudaClientOptions() {}

  /**
   * @throws StartRefusedException for a setting of another platform, one that is given twice, and
   *     one that contradicts another
   */
  static ClientOptions of(DeviceProperties device) {
    ClientOptions options = PluginClientOptions.parse(device.options());
    boolean isCuda = device.platform().equals(PluginOptions.CUDA);
    refuseOtherPlatforms(device, isCuda);
    return isCuda ? with(options, device.cuda(), device.ordinal()) : options;
  }

  private static ClientOptions with(ClientOptions raw, CudaProperties cuda, int ordinal) {
    ClientOptions options = raw;
    if (cuda.memoryFraction() != null) {
      options =
          once(options, "memory_fraction", "memory-fraction")
              .with("memory_fraction", cuda.memoryFraction().floatValue());
    }
    if (cuda.preallocate() != null) {
      options = once(options, "preallocate", "preallocate").with("preallocate", cuda.preallocate());
    }
    if (cuda.allocator() != null) {
      options =
          once(options, "allocator", "allocator")
              .with("allocator", cuda.allocator().name().toLowerCase(Locale.ROOT));
    }
    if (cuda.stageTransfers() != null) {
      options =
          once(options, "should_stage_host_to_device_transfers", "stage-transfers")
              .with("should_stage_host_to_device_transfers", cuda.stageTransfers());
    }
    return withVisibleDevices(options, cuda.visibleDevices(), ordinal);
  }

  private static ClientOptions withVisibleDevices(
      ClientOptions options, List<Integer> visible, int ordinal) {
    if (visible.isEmpty()) {
      return options;
    }
    once(options, VISIBLE_DEVICES, "visible-devices");
    String key = DEVICE + "cuda.visible-devices";
    if (new HashSet<>(visible).size() < visible.size()) {
      throw new StartRefusedException(
          "%s is %s and names a GPU twice.".formatted(key, visible), "Name each once.");
    }
    if (ordinal >= visible.size()) {
      throw new StartRefusedException(
          "%sordinal is %d, but %s, %s, has elements 0 to %d only."
              .formatted(DEVICE, ordinal, key, visible, visible.size() - 1),
          "The ordinal counts in that list; correct it, or leave the list out.");
    }
    return options.with(VISIBLE_DEVICES, visible.stream().mapToLong(Integer::longValue).toArray());
  }

  private static ClientOptions once(ClientOptions options, String name, String key) {
    if (options.has(name)) {
      throw new StartRefusedException(
          "%scuda.%s and %soptions.%s set the same thing.".formatted(DEVICE, key, DEVICE, name),
          "Remove the second.");
    }
    return options;
  }

  private static void refuseOtherPlatforms(DeviceProperties device, boolean isCuda) {
    List<String> keys = device.cuda().set();
    if (!isCuda && !keys.isEmpty()) {
      throw unused("cuda." + keys.getFirst(), PluginOptions.CUDA, device.platform());
    }
    if (!device.platform().equals(PluginOptions.CPU) && device.cpu().threads() != null) {
      throw unused("cpu.threads", PluginOptions.CPU, device.platform());
    }
    if (!device.platform().equals(PluginOptions.CPU)
        && device.cpu().weights() != DeviceProperties.Weights.ALIAS) {
      throw unused("cpu.weights", PluginOptions.CPU, device.platform());
    }
  }

  private static StartRefusedException unused(String key, String platform, String actual) {
    return new StartRefusedException(
        "%s%s is set and is of platform '%s', but %splatform is '%s'."
            .formatted(DEVICE, key, platform, DEVICE, actual),
        "Remove it, or set %splatform to '%s'.".formatted(DEVICE, platform));
  }
}
