package dev.roundhouse.devicecheck;

import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceProvider;
import dev.roundhouse.pjrt.ClientOptions;
import dev.roundhouse.pjrt.PjrtDevice;
import dev.roundhouse.pjrt.PjrtDeviceOptions;
import dev.roundhouse.pjrt.PjrtPlugin;
import dev.roundhouse.pjrt.PluginOptions;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a step may know.
 *
 * @param platform the PJRT platform that is checked, {@code cpu} or {@code cuda}
 * @param plugin the plugin's file; null when it is looked for where the binding looks
 * @param home the unpacked folder: {@code device-check.jar}, {@code lib}, {@code worker.jar},
 *     {@code models}, {@code expected}, {@code pjrt_floor}
 * @param scratch an empty folder of this step's own
 */
public record CheckContext(String platform, @Nullable Path plugin, Path home, Path scratch) {
  private static final String PLUGIN_PROPERTY = "roundhouse.pjrt.plugin";

  /** Options of every JVM that loads the plugin. */
  public List<String> jvmOptions() {
    List<String> options = new ArrayList<>();
    options.add("--enable-native-access=ALL-UNNAMED");
    options.add("--sun-misc-unsafe-memory-access=allow");
    if (plugin != null) {
      options.add("-D" + PLUGIN_PROPERTY + "=" + plugin);
    }
    return options;
  }

  /** The {@code java} that runs this. */
  public static Path java() {
    return Path.of(System.getProperty("java.home"), "bin", "java");
  }

  /** The folder with the bundles of all samples. */
  public Path models() {
    return home.resolve("models");
  }

  /** The folder with requests to the samples and what the CPU plugin answers. */
  public Path expected() {
    return home.resolve("expected");
  }

  public boolean isCpu() {
    return platform.equals("cpu");
  }

  /** The device that is checked, for an engine to open. */
  public DeviceProvider.Settings settings() {
    DeviceProvider.Settings settings = DeviceProvider.Settings.DEFAULT.withPlatform(platform);
    return plugin == null ? settings : settings.withPlugin(plugin);
  }

  /** Opens the device that is checked; the caller closes it. */
  public PjrtDevice openDevice() {
    return openDevice(PjrtDeviceOptions.DEFAULTS);
  }

  /**
   * Opens the device that is checked, on a CPU as one with memory of its own: what goes there is
   * copied, large tensors in parts.
   */
  public PjrtDevice openCopyingDevice() {
    return openCopyingDevice(PjrtDeviceOptions.DEFAULTS);
  }

  /** As {@link #openCopyingDevice()}, with options of the step's own. */
  public PjrtDevice openCopyingDevice(PjrtDeviceOptions options) {
    return PjrtDevice.open(options(options), false);
  }

  /** Opens a device that takes no more memory than it needs, for beside it there is another. */
  public PjrtDevice openDeviceBesideAnother() {
    PjrtDeviceOptions defaults = PjrtDeviceOptions.DEFAULTS;
    ClientOptions client =
        isCpu() ? defaults.client() : defaults.client().with("preallocate", false);
    return openDevice(
        new PjrtDeviceOptions(
            defaults.plugin(),
            client,
            defaults.compile(),
            defaults.ordinal(),
            defaults.runBytesLimit()));
  }

  /**
   * Opens the device with options of the step's own; the caller closes it.
   *
   * @throws DeviceException when the plugin is of another platform
   */
  public PjrtDevice openDevice(PjrtDeviceOptions options) {
    return PjrtDevice.open(options(options));
  }

  /** Loads the plugin, and opens no device of it. */
  public PjrtPlugin loadPlugin() {
    return PjrtPlugin.load(options(PjrtDeviceOptions.DEFAULTS).plugin());
  }

  private PjrtDeviceOptions options(PjrtDeviceOptions options) {
    PluginOptions loaded = options.plugin().withPlatform(platform);
    return options.withPlugin(plugin == null ? loaded : loaded.withPath(plugin));
  }
}
