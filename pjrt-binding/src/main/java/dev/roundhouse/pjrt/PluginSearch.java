package dev.roundhouse.pjrt;

import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where a plugin is looked for, first match wins: the path given, the system property, the
 * environment variable; then, for {@code cpu}, the cache that {@code tools/pjrt-plugin/fetch}
 * fills, and for {@code cuda}, where pip puts the plugin's package. A place that is named but holds
 * no file is an error, never a reason to look further.
 */
final class PluginSearch {
  static final String PROPERTY = "roundhouse.pjrt.plugin";
  static final String VARIABLE = "PJRT_PLUGIN_PATH";

  private static final Logger log = LoggerFactory.getLogger(PluginSearch.class);
  private static final String FETCH = "tools/pjrt-plugin/fetch";
  private static final String CACHED = "pjrt/xla-cpu-pjrt-0.0.1/xla_cpu_pjrt.so";

  private final Lookup properties;
  private final Lookup environment;
  private final Path root;

  /**
   * @param root of the file system; tests have their own
   */
  PluginSearch(Lookup properties, Lookup environment, Path root) {
    this.properties = properties;
    this.environment = environment;
    this.root = root;
  }

  static PluginSearch ofThisProcess() {
    return new PluginSearch(System::getProperty, System::getenv, Path.of("/"));
  }

  Path find(PluginOptions options) {
    if (options.path().isPresent()) {
      return existing("the path given", options.path().get(), options.platform());
    }
    String property = properties.get(PROPERTY);
    if (property != null) {
      return existing("system property " + PROPERTY, Path.of(property), options.platform());
    }
    String variable = environment.get(VARIABLE);
    if (variable != null) {
      return existing("environment variable " + VARIABLE, Path.of(variable), options.platform());
    }
    return switch (options.platform()) {
      case PluginOptions.CPU -> cached();
      case PluginOptions.CUDA -> installed(options.pythonEnvironment());
      default -> throw none("", "Name a plugin in one of these places.");
    };
  }

  private Path cached() {
    Optional<Path> cached =
        CacheDirectory.of(environment::get).map(folder -> folder.resolve(CACHED));
    if (cached.filter(Files::isRegularFile).isPresent()) {
      log.info("PJRT plugin: {} (cache)", cached.get());
      return cached.get();
    }
    throw none(
        cached
            .map(file -> ", and the cache has no " + file)
            .orElse(", and there is no cache: " + CacheDirectory.ADVICE),
        fix(PluginOptions.CPU));
  }

  private Path installed(Optional<Path> pythonEnvironment) {
    List<Path> folders = new PythonPackages(environment, root).folders(pythonEnvironment);
    List<String> seen = new ArrayList<>();
    for (Path folder : folders) {
      for (String file : CudaPackage.FILES) {
        Path plugin = folder.resolve(file);
        if (Files.isRegularFile(plugin)) {
          log.info("PJRT plugin: {} (Python package)", plugin);
          return plugin;
        }
      }
      seen.add(folder.toString());
    }
    String where =
        pythonEnvironment.map(each -> "the Python environment " + each).orElse("Python's packages");
    throw none(
        seen.isEmpty()
            ? ", and %s %s no folder lib/python3*/site-packages"
                .formatted(where, pythonEnvironment.isPresent() ? "has" : "have")
            : ", and no CUDA plugin (%s) lies in %s"
                .formatted(String.join(", ", CudaPackage.FILES), String.join(", ", seen)),
        fix(PluginOptions.CUDA));
  }

  private static DeviceException none(String also, String fix) {
    return new DeviceException(
        Code.UNSUPPORTED,
        "no PJRT plugin: no path was given, system property %s and environment variable %s are not set%s. %s"
            .formatted(PROPERTY, VARIABLE, also, fix));
  }

  private static Path existing(String place, Path path, String platform) {
    if (!Files.isRegularFile(path)) {
      throw new DeviceException(
          Code.INVALID_ARGUMENT,
          "no PJRT plugin at %s, which %s names. Correct it, or unset it. %s"
              .formatted(path, place, fix(platform)));
    }
    log.info("PJRT plugin: {} ({})", path, place);
    return path;
  }

  private static String fix(String platform) {
    return switch (platform) {
      case PluginOptions.CPU ->
          "Run " + FETCH + " to fetch the CPU plugin, or name a plugin in one of these places.";
      case PluginOptions.CUDA -> CudaPackage.INSTALL;
      default -> "Name a plugin of platform " + platform + " there.";
    };
  }

  /** The value of a name, or null when it is not set. */
  @FunctionalInterface
  interface Lookup {
    @Nullable String get(String name);
  }
}
