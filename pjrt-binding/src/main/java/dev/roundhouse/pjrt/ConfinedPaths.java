package dev.roundhouse.pjrt;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The files that a compiler on the CPU has a use for. */
final class ConfinedPaths {
  /** Of a JDK: some distributions keep files of these folders elsewhere and link to them. */
  private static final List<String> LINKING = List.of("conf", "lib");

  private static final int LINK_DEPTH = 4;

  /** Below these lie the libraries of a system. */
  private static final List<String> LIBRARIES = List.of("/lib", "/lib64", "/usr", "/nix/store");

  /**
   * What the C library, the JVM and XLA read of a machine. Of other processes nothing: their
   * environment can be read in {@code /proc} by whoever is the same user.
   */
  private static final List<String> MACHINE =
      List.of(
          "/etc/ld.so.cache",
          "/etc/localtime",
          "/proc/self",
          "/proc/cgroups",
          "/proc/cpuinfo",
          "/proc/filesystems",
          "/proc/loadavg",
          "/proc/meminfo",
          "/proc/stat",
          "/proc/sys",
          "/proc/version",
          "/sys",
          "/dev/zero",
          "/dev/random",
          "/dev/urandom");

  /** XLA writes there what it compiles, and how. */
  private static final String DUMP = "--xla_dump_to=";

  private ConfinedPaths() {}

  static Set<String> readable(Path folder, PluginOptions options, List<String> classPath)
      throws IOException {
    Set<String> paths = new LinkedHashSet<>(LIBRARIES);
    paths.addAll(MACHINE);
    paths.add(folder.toString());
    paths.addAll(classPath);
    paths.addAll(linkedFromJdk());
    add(paths, System.getProperty(NativeLibrary.PROPERTY));
    String searched = System.getenv("LD_LIBRARY_PATH");
    if (searched != null) {
      List.of(searched.split(":")).forEach(each -> add(paths, each));
    }
    String flags = System.getenv(XlaFlags.VARIABLE);
    if (flags != null && !flags.startsWith("-")) {
      add(paths, flags); // a file with flags
    }
    Path plugin = options.path().orElseThrow();
    add(paths, parent(plugin));
    if (Files.exists(plugin)) {
      add(paths, parent(plugin.toRealPath()));
    }
    return paths;
  }

  private static void add(Set<String> paths, @Nullable String path) {
    if (path != null && !path.isEmpty()) {
      paths.add(Path.of(path).toAbsolutePath().toString());
    }
  }

  private static @Nullable String parent(Path file) {
    Path folder = file.toAbsolutePath().getParent();
    return folder == null ? null : folder.toString();
  }

  private static Set<String> linkedFromJdk() throws IOException {
    Set<String> targets = new LinkedHashSet<>();
    for (String each : LINKING) {
      Path part = jdk().resolve(each);
      if (!Files.exists(part)) {
        continue;
      }
      try (Stream<Path> files = Files.walk(part, LINK_DEPTH)) {
        for (Path link : files.filter(Files::isSymbolicLink).toList()) {
          if (Files.exists(link)) {
            targets.add(link.toRealPath().toString());
          }
        }
      }
    }
    return targets;
  }

  private static Path jdk() {
    return Path.of(System.getProperty("java.home"));
  }

  /** Java, and what the kernel runs to load it. */
  static List<String> runnable() throws IOException {
    List<String> paths = new ArrayList<>();
    paths.add(jdk().toRealPath().toString());
    for (String folder : new String[] {"/lib64", "/lib"}) {
      if (Files.isDirectory(Path.of(folder))) {
        try (Stream<Path> files = Files.list(Path.of(folder))) {
          files.map(Path::toString).filter(ConfinedPaths::isLoader).forEach(paths::add);
        }
      }
    }
    return paths;
  }

  private static boolean isLoader(String file) {
    return file.contains("/ld-linux") || file.contains("/ld-musl");
  }

  static Set<String> writable(Path scratch, PluginOptions options, Optional<String> dump)
      throws IOException {
    Set<String> dumps = new LinkedHashSet<>();
    dump.ifPresent(dumps::add);
    dumps(options.xlaFlags()).forEach(dumps::add);
    String inherited = System.getenv(XlaFlags.VARIABLE);
    if (inherited != null) {
      dumps(List.of(inherited.strip().split("\\s+"))).forEach(dumps::add);
    }
    Set<String> paths = new LinkedHashSet<>(List.of("/dev/null", scratch.toString()));
    for (String each : dumps) {
      paths.add(Files.createDirectories(Path.of(each).toAbsolutePath()).toString());
    }
    return paths;
  }

  private static Stream<String> dumps(List<String> flags) {
    return flags.stream()
        .filter(flag -> flag.startsWith(DUMP))
        .map(flag -> flag.substring(DUMP.length()));
  }
}
