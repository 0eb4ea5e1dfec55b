package dev.roundhouse.pjrt;

import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What is taken from a compiler process before it sees a program: the beginning of its command
 * line. Whoever takes over the compiler by a program of theirs finds no network, no file of anybody
 * else, and no way to another process. Immutable.
 */
final class Confinement {
  private static final Logger log = LoggerFactory.getLogger(Confinement.class);

  private static final String PROGRAM = "confined";

  /** Of the environment; the rest, which may hold secrets, it is not given. */
  private static final Set<String> VARIABLES =
      Set.of("PATH", "HOME", "USER", "TMPDIR", "TZ", "LANG", "LANGUAGE", "GLIBC_TUNABLES");

  private static final List<String> VARIABLES_BY_PREFIX =
      List.of(
          "LC_", "LD_", "XLA_", "TF_", "TSL_", "PJRT_", "OMP_", "MKL_", "KMP_", "MALLOC_", "CUDA_",
          "NVIDIA_");

  /** A way of taking something away. */
  enum Kind {
    /** All files but those that compiling reads, and all writing but to a scratch folder. */
    FILES("Landlock"),
    /** The network, signals and the memory of other processes, and rare system calls. */
    CALLS("seccomp");

    final String what;

    Kind(String what) {
      this.what = what;
    }
  }

  private final Set<Kind> kinds;

  private Confinement(Set<Kind> kinds) {
    this.kinds = kinds;
  }

  /**
   * What there is on this system of what is wanted.
   *
   * @param platform of the plugin; on a GPU nothing is taken away, for only the driver knows what
   *     it opens
   * @throws DeviceException UNSUPPORTED when all of it is required, and something is not there
   */
  static Confinement of(CompilerConfinement wanted, String platform) {
    boolean isOnCpu = platform.equals(PluginOptions.CPU);
    Set<Kind> kinds =
        wanted == CompilerConfinement.NONE || !isOnCpu ? EnumSet.noneOf(Kind.class) : available();
    boolean isWhole = kinds.size() == Kind.values().length;
    if (wanted == CompilerConfinement.REQUIRED && !isWhole) {
      throw new DeviceException(
          Code.UNSUPPORTED,
          "compiler processes cannot be confined: "
              + (isOnCpu
                  ? "this kernel, or a container's filter, has no " + missing(kinds)
                  : "they are not where the platform is " + platform));
    }
    if (wanted == CompilerConfinement.AUTO && isOnCpu && !isWhole) {
      log.warn(
          "compiler processes are confined less than they could be: this kernel, or a container's"
              + " filter, has no {}",
          missing(kinds));
    }
    return new Confinement(kinds);
  }

  private static Set<Kind> available() {
    NativeLibrary.load();
    Set<Kind> kinds = EnumSet.noneOf(Kind.class);
    if (hasLandlock()) {
      kinds.add(Kind.FILES);
    }
    if (hasSeccomp()) {
      kinds.add(Kind.CALLS);
    }
    return kinds;
  }

  private static String missing(Set<Kind> kinds) {
    return Arrays.stream(Kind.values())
        .filter(kind -> !kinds.contains(kind))
        .map(kind -> kind.what)
        .collect(Collectors.joining(" and no "));
  }

  /** For operators. */
  Set<String> names() {
    return kinds.stream()
        .map(kind -> kind.name().toLowerCase(Locale.ROOT))
        .collect(Collectors.toUnmodifiableSet());
  }

  /**
   * The command that runs a Java as it says.
   *
   * @param folder that the process may read; a copy of the program that confines comes there
   * @param scratch that the process may write to
   * @param java of a class path that stands behind {@code -cp}
   */
  List<String> command(Path folder, Path scratch, CompilerSettings settings, List<String> java)
      throws IOException {
    List<String> command = new ArrayList<>();
    command.add(copied(folder).toString());
    if (kinds.contains(Kind.CALLS)) {
      command.add("--calls");
    }
    if (kinds.contains(Kind.FILES)) {
      command.add("--files");
      PluginOptions plugin = settings.plugin();
      add(command, "--read", ConfinedPaths.readable(folder, plugin, classPath(java)));
      add(command, "--run", ConfinedPaths.runnable());
      add(command, "--write", ConfinedPaths.writable(scratch, plugin, settings.dump()));
    }
    command.add("--");
    command.addAll(java);
    return command;
  }

  private static void add(List<String> command, String option, Collection<String> paths) {
    paths.forEach(path -> command.addAll(List.of(option, path)));
  }

  private static List<String> classPath(List<String> java) {
    return List.of(java.get(java.indexOf("-cp") + 1).split(":"));
  }

  /** Takes away what a compiler has no use for. */
  void clean(Collection<String> variables) {
    if (!kinds.isEmpty()) {
      variables.removeIf(
          name ->
              !VARIABLES.contains(name)
                  && VARIABLES_BY_PREFIX.stream().noneMatch(name::startsWith));
    }
  }

  private static Path copied(Path folder) throws IOException {
    Path copy = folder.resolve(PROGRAM);
    if (!Files.exists(copy)) {
      try (InputStream program = NativeLibrary.resource(PROGRAM)) {
        Files.copy(program, copy, StandardCopyOption.REPLACE_EXISTING);
      }
      Files.setPosixFilePermissions(copy, PosixFilePermissions.fromString("r-x------"));
    }
    return copy;
  }

  private static native boolean hasLandlock();

  private static native boolean hasSeccomp();
}
