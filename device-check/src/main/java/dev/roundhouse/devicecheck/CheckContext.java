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
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What a step may know.
 *
 * @param platform the PJRT platform that is checked, {@code cpu} or {@code cuda}
 * @param plugin the plugin's file; null when it is looked for where the binding looks
 * @param allocator what a GPU's memory is given out by, in the plugin's words; null for its own
 *     choice
 * @param home the unpacked folder: {@code device-check.jar}, {@code lib}, {@code worker.jar},
 *     {@code models}, {@code expected}, {@code pjrt_floor}
 * @param scratch an empty folder of this step's own
 */
public record CheckContext(
    String platform, @Nullable Path plugin, @Nullable String allocator, Path home, Path scratch) {
  private static final String PLUGIN_PROPERTY = "roundhouse.pjrt.plugin";

  private static final Set<String> KEEPING_TO_THEIRS = Set.of("default", "bfc");

  /** Options of every JVM that loads the plugin. */
  public List<String> jvmOptions() {
    List<String> options = new ArrayList<>();
    options.add("--enable-native-access=ALL-UNNAMED");
    options.add("--sun-misc-unsafe-memory-access=allow");
    // the home folder is not written to
    options.add("-Djna.tmpdir=" + System.getProperty("java.io.tmpdir"));
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

  /** False for a GPU's allocators that go beyond what they say they may give out. */
  public boolean keepsToItsMemory() {
    return allocator == null || KEEPING_TO_THEIRS.contains(allocator);
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
   * Opens the device that is checked, on a CPU as one with separate memory: uploads are copied,
   * large tensors in parts.
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
    return openDevice(defaults.withClient(client));
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
    PjrtDeviceOptions checked =
        options.withPlugin(plugin == null ? loaded : loaded.withPath(plugin));
    return allocator == null
        ? checked
        : checked.withClient(checked.client().with("allocator", allocator));
  }
}
