package dev.roundhouse.pjrt;

import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where a plugin is looked for, first match wins: the path given, the system property, the
 * environment variable, the cache that {@code tools/pjrt-plugin/fetch} fills. A place that is named
 * but holds no file is an error, never a reason to look further.
 */
final class PluginSearch {
  static final String PROPERTY = "roundhouse.pjrt.plugin";
  static final String VARIABLE = "PJRT_PLUGIN_PATH";

  private static final Logger log = LoggerFactory.getLogger(PluginSearch.class);
  private static final String FETCH = "tools/pjrt-plugin/fetch";
  private static final String CACHED = "pjrt/xla-cpu-pjrt-0.0.1/xla_cpu_pjrt.so";

  private final Lookup properties;
  private final Lookup environment;

  PluginSearch(Lookup properties, Lookup environment) {
    this.properties = properties;
    this.environment = environment;
  }

  static PluginSearch ofThisProcess() {
    return new PluginSearch(System::getProperty, System::getenv);
  }

  Path find(Optional<Path> given) {
    if (given.isPresent()) {
      return existing("the path given", given.get());
    }
    String property = properties.get(PROPERTY);
    if (property != null) {
      return existing("system property " + PROPERTY, Path.of(property));
    }
    String variable = environment.get(VARIABLE);
    if (variable != null) {
      return existing("environment variable " + VARIABLE, Path.of(variable));
    }
    Optional<Path> cached =
        CacheDirectory.of(environment::get).map(folder -> folder.resolve(CACHED));
    if (cached.filter(Files::isRegularFile).isPresent()) {
      log.info("PJRT plugin: {} (cache)", cached.get());
      return cached.get();
    }
    throw new DeviceException(
        Code.UNSUPPORTED,
        "no PJRT plugin: no path was given, system property %s and environment variable %s are not set, and %s. Run %s to fetch the CPU plugin, or name a plugin in one of these places."
            .formatted(
                PROPERTY,
                VARIABLE,
                cached
                    .map(file -> "the cache has no " + file)
                    .orElse("there is no cache: " + CacheDirectory.ADVICE),
                FETCH));
  }

  private static Path existing(String place, Path path) {
    if (!Files.isRegularFile(path)) {
      throw new DeviceException(
          Code.INVALID_ARGUMENT,
          "no PJRT plugin at %s, which %s names. Correct it, or unset it and run %s to fetch the CPU plugin."
              .formatted(path, place, FETCH));
    }
    log.info("PJRT plugin: {} ({})", path, place);
    return path;
  }

  /** The value of a name, or null when it is not set. */
  @FunctionalInterface
  interface Lookup {
    @Nullable String get(String name);
  }
}
