package dev.roundhouse.pjrt;

import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * What a plugin, and the libraries that it opens, read of the process's environment. It is set
 * before the plugin is opened, and read once.
 */
final class PluginEnvironment {
  /** With 0, NVIDIA's libraries compute nothing in TF32, whatever they are asked for. */
  static final String TF32_OVERRIDE = "NVIDIA_TF32_OVERRIDE";

  static final String CPU_THREADS = "PJRT_NPROC";

  private final Path plugin;
  private final Optional<CudaPackage> cuda;
  private final XlaFlags flags;
  private final Map<String, String> variables = new LinkedHashMap<>();

  /**
   * @param plugin by the name it is opened by
   * @param inherited the environment as the process was given it
   * @throws DeviceException INVALID_ARGUMENT when the options contradict it
   */
  PluginEnvironment(PluginOptions options, Path plugin, PluginSearch.Lookup inherited) {
    this.plugin = plugin;
    this.cuda = CudaPackage.of(plugin);
    this.flags =
        XlaFlags.of(Optional.ofNullable(inherited.get(XlaFlags.VARIABLE)), options.xlaFlags())
            .withDataDirectory(cuda.flatMap(each -> each.dataDirectory(Path.of("/"))));
    flags.value().ifPresent(value -> variables.put(XlaFlags.VARIABLE, value));
    options
        .cpuThreads()
        .ifPresent(threads -> variables.put(CPU_THREADS, Integer.toString(threads)));
    if (options.overridesTf32()) {
      String asked = inherited.get(TF32_OVERRIDE);
      if (asked != null && !asked.equals("0")) {
        throw new DeviceException(
            Code.INVALID_ARGUMENT,
            "environment variable %s is '%s', and no product may be computed in TF32; unset it, or use numerics auto"
                .formatted(TF32_OVERRIDE, asked));
      }
      variables.put(TF32_OVERRIDE, "0");
    }
  }

  /** What to set. */
  Map<String, String> variables() {
    return variables;
  }

  /**
   * Checks that the plugin will find what it opens and knows the flags it will read.
   *
   * @param loads whether the system's loader finds a library by its name
   * @throws DeviceException naming what is missing or unknown
   */
  void check(Predicate<String> loads) {
    cuda.ifPresent(each -> each.check(loads, flags.hasDataDirectory()));
    flags.checkKnownTo(plugin);
  }
}
