package dev.roundhouse.pjrt;

import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.Device;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.ZipEntry;
import org.slf4j.Logger;

/**
 * The command line of a compiler process: this process's Java, and of its class path what compiling
 * needs. Libraries inside another jar, as Spring Boot packs them, are copied out: Java reads only
 * whole files, and reading the outer jar takes longer than the compiler's own start.
 */
final class CompilerCommand {
  private static final List<Class<?>> NEEDED =
      List.of(CompilerMain.class, Device.class, TensorType.class, Logger.class);

  /** {@code jar:nested:/app/worker.jar/!BOOT-INF/lib/pjrt-binding.jar!/}. */
  private static final Pattern NESTED = Pattern.compile("jar:nested:(/.*)/!(.+?)!/");

  private CompilerCommand() {}

  /**
   * @param folder for copies, there for as long as processes are started
   * @param scratch for temporary files
   * @param main class of the process, {@link CompilerMain} but in tests
   */
  static List<String> of(Path folder, Path scratch, Class<?> main, CompilerLimits limits)
      throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(
        List.of(
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-Xshare:auto",
            "-XX:-UsePerfData",
            "-Xmx" + Math.max(64L << 20, limits.memoryBytes() / 4),
            "-XX:+ExitOnOutOfMemoryError",
            // A crash prints a few lines on standard error, and leaves no file.
            "-XX:+DisplayVMOutputToStderr",
            "-XX:-CreateCoredumpOnCrash",
            "-XX:ErrorFile=/dev/null",
            "--enable-native-access=ALL-UNNAMED",
            "-Dslf4j.provider=org.slf4j.helpers.NOP_FallbackServiceProvider",
            "-Dslf4j.internal.verbosity=ERROR",
            "-Djava.io.tmpdir=" + scratch));
    String library = System.getProperty(NativeLibrary.PROPERTY);
    if (library != null) {
      command.add("-D" + NativeLibrary.PROPERTY + "=" + Path.of(library).toAbsolutePath());
    }
    command.addAll(List.of("-cp", classPath(folder, main), main.getName()));
    command.add(Long.toString(limits.idle().toMillis()));
    command.add(Long.toString(limits.memoryBytes()));
    return command;
  }

  private static String classPath(Path folder, Class<?> main) throws IOException {
    Set<String> places = new LinkedHashSet<>();
    places.add(place(folder, main));
    for (Class<?> each : NEEDED) {
      places.add(place(folder, each));
    }
    return String.join(":", places);
  }

  private static String place(Path folder, Class<?> type) throws IOException {
    URL location = type.getProtectionDomain().getCodeSource().getLocation();
    if (location.getProtocol().equals("file")) {
      try {
        return Path.of(location.toURI()).toString();
      } catch (URISyntaxException e) {
        throw new IOException("cannot find the file of " + type + " at " + location, e);
      }
    }
    Matcher nested = NESTED.matcher(location.toString());
    if (!nested.matches()) {
      throw new IOException("cannot copy " + type + " out of " + location);
    }
    return copied(folder, Path.of(URI.create("file:" + nested.group(1))), nested.group(2));
  }

  private static String copied(Path folder, Path jar, String entry) throws IOException {
    Path copy = folder.resolve(entry.substring(entry.lastIndexOf('/') + 1));
    if (!Files.exists(copy)) {
      try (JarFile outer = new JarFile(jar.toFile())) {
        ZipEntry inner = outer.getEntry(entry);
        if (inner == null) {
          throw new IOException(jar + " has no " + entry);
        }
        try (InputStream library = outer.getInputStream(inner)) {
          Files.copy(library, copy, StandardCopyOption.REPLACE_EXISTING);
        }
      }
    }
    return copy.toString();
  }
}
