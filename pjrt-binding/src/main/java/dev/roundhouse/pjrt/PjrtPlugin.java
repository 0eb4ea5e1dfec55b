package dev.roundhouse.pjrt;

import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A loaded PJRT plugin. Loaded once per file and process and never unloaded, because plugins leave
 * threads behind. Immutable and thread-safe.
 */
public final class PjrtPlugin {
  private static final Logger log = LoggerFactory.getLogger(PjrtPlugin.class);
  private static final String LOG_LEVEL = "TF_CPP_MIN_LOG_LEVEL";
  private static final Map<Path, PjrtPlugin> LOADED = new HashMap<>();

  private final Path path;
  private final Path named;
  private final String stamp;
  private final Map<String, String> environment;
  private final long api;
  private final String apiVersion;
  private final Map<String, String> attributes;
  private byte @Nullable [] sha256;

  private PjrtPlugin(Path path, Path opened, Map<String, String> environment) {
    this.path = path;
    this.named = opened;
    this.stamp = stamp(path);
    this.environment = environment;
    this.api = open(opened.toString());
    this.apiVersion = checkedVersion(path, version(api));
    initialize(api);
    this.attributes = pairs(attributes(api));
  }

  /**
   * Loads a plugin, or returns it when its file is loaded already. Looked for, first match wins: at
   * {@code options.path()}, at the system property {@code roundhouse.pjrt.plugin}, at the
   * environment variable {@code PJRT_PLUGIN_PATH}; then for {@code cpu} in the cache that {@code
   * tools/pjrt-plugin/fetch} fills, for {@code cuda} among the Python packages of {@code
   * options.pythonEnvironment()}, or of VIRTUAL_ENV, CONDA_PREFIX, the user and the system.
   *
   * @throws DeviceException when there is none, something that it needs is missing, it does not
   *     load, or it is loaded already with other options
   */
  public static PjrtPlugin load(PluginOptions options) {
    // Opened by the name it has: what is found relative to it lies beside that, not beside what a
    // link of the package manager's points to.
    Path named = PluginSearch.ofThisProcess().find(options).toAbsolutePath().normalize();
    Path path = real(named);
    PluginEnvironment environment = new PluginEnvironment(options, named, System::getenv);
    NativeLibrary.load();
    synchronized (LOADED) {
      PjrtPlugin plugin = LOADED.get(path);
      if (plugin == null) {
        quietUnlessAsked();
        environment.check(PjrtPlugin::canOpen);
        environment.variables().forEach(PjrtPlugin::setEnvironment);
        plugin = opened(path, named, environment.variables());
        LOADED.put(path, plugin);
        log.info("loaded {} with PJRT API {}, {}", path, plugin.apiVersion, plugin.attributes);
      } else if (options.needsEnvironment()
          && !environment.variables().equals(plugin.environment)) {
        throw new DeviceException(
            Code.INVALID_ARGUMENT,
            "%s is loaded already with %s and reads its environment once; %s needs a process of its own"
                .formatted(path, plugin.environment, environment.variables()));
      }
      return plugin;
    }
  }

  private static PjrtPlugin opened(Path path, Path named, Map<String, String> environment) {
    try {
      return new PjrtPlugin(path, named, environment);
    } catch (DeviceException refusal) {
      throw new DeviceException(
          refusal.code(), "plugin " + path + ": " + refusal.getMessage(), refusal);
    }
  }

  /** Plugins write a line to stderr per client; warnings and errors stay. */
  private static void quietUnlessAsked() {
    if (System.getenv(LOG_LEVEL) == null) {
      setEnvironment(LOG_LEVEL, "1");
    }
  }

  public Path path() {
    return path;
  }

  /**
   * The file of CUDA's runtime that a CUDA plugin finds beside its package; empty for another
   * plugin, and where that is left to the system's loader.
   */
  public Optional<Path> cudaRuntime() {
    return CudaPackage.of(named).flatMap(CudaPackage::runtimeLibrary);
  }

  /** As it was found, by a link perhaps: what it needs is looked for beside that. */
  Path named() {
    return named;
  }

  /** Tells the file that was loaded from one that has taken its place since. */
  String stamp() {
    return stamp;
  }

  /** What the plugin reads of its environment and compiles by. */
  String compileEnvironment() {
    String flags = variable(XlaFlags.VARIABLE);
    String threads = variable("PJRT_NPROC") + "/" + variable("NPROC");
    return String.join(
        "\n",
        flags.isEmpty() || flags.startsWith("-") ? flags : XlaFlags.ofFile(Path.of(flags)),
        threads.equals("/")
            ? Integer.toString(Runtime.getRuntime().availableProcessors())
            : threads);
  }

  private String variable(String name) {
    String set = environment.get(name);
    return Objects.requireNonNullElse(set == null ? System.getenv(name) : set, "");
  }

  /** Version of the C API, such as {@code 0.81}. */
  public String apiVersion() {
    return apiVersion;
  }

  /** Attributes that the plugin reports: xla_version, stablehlo_current_version and others. */
  public Map<String, String> attributes() {
    return attributes;
  }

  /**
   * Digest of the plugin's file, which tells one build from another; computed once, slowly.
   *
   * @throws DeviceException when the file is no longer the one that was loaded
   */
  synchronized byte[] sha256() {
    if (sha256 == null) {
      try {
        byte[] digest = Sha256.of(path);
        checkStamp(stamp(path));
        sha256 = digest;
      } catch (IOException e) {
        throw new UncheckedIOException("cannot hash the plugin " + path, e);
      }
    }
    return sha256.clone();
  }

  /** Refuses another file than the one that was loaded here. */
  void checkStamp(String other) {
    if (!stamp.equals(other)) {
      throw new DeviceException(
          Code.INTERNAL,
          "the plugin %s was replaced while it was in use (%s, now %s); restart with the new one"
              .formatted(path, stamp, other));
    }
  }

  private static String stamp(Path file) {
    try {
      BasicFileAttributes read = Files.readAttributes(file, BasicFileAttributes.class);
      return "%d bytes of %s, %s".formatted(read.size(), read.lastModifiedTime(), read.fileKey());
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read the plugin " + file, e);
    }
  }

  /** The function table that every native call takes. */
  long api() {
    return api;
  }

  /**
   * @param version major, minor, bytes of the plugin's function table, bytes of ours, our minor
   */
  static String checkedVersion(Path path, long[] version) {
    long major = version[0];
    long minor = version[1];
    long tableBytes = version[2];
    long neededBytes = version[3];
    String name = major + "." + minor;
    // We call nothing that our header does not have, so a table as long as the header's is enough.
    if (major != 0 || tableBytes < neededBytes) {
      throw new DeviceException(
          Code.UNSUPPORTED,
          "%s has PJRT API %s with a function table of %d bytes; 0.%d or newer with %d bytes is needed. Use a newer plugin."
              .formatted(path, name, tableBytes, version[4], neededBytes));
    }
    return name;
  }

  private static Path real(Path path) {
    try {
      return path.toRealPath();
    } catch (IOException e) {
      throw new DeviceException(Code.INVALID_ARGUMENT, "cannot open the plugin " + path, e);
    }
  }

  /** Of names and values in turn, as UTF-8. */
  static Map<String, String> pairs(byte[][] namesAndValues) {
    Map<String, String> pairs = new LinkedHashMap<>();
    for (int i = 0; i < namesAndValues.length; i += 2) {
      pairs.put(text(namesAndValues[i]), text(namesAndValues[i + 1]));
    }
    return Collections.unmodifiableMap(pairs);
  }

  static String text(byte[] utf8) {
    return new String(utf8, StandardCharsets.UTF_8);
  }

  private static native long open(String path);

  /** True when the system's loader finds a library; it stays open, as the plugin will use it. */
  private static native boolean canOpen(String library);

  private static native void setEnvironment(String name, String value);

  private static native long[] version(long api);

  private static native void initialize(long api);

  private static native byte[][] attributes(long api);
}
