package dev.roundhouse.pjrt;

import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Locale;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Loads the JNI library once: the file that the system property {@code roundhouse.pjrt.library}
 * names, else the one inside the jar, copied to a private temporary file.
 */
final class NativeLibrary {
  static final String PROPERTY = "roundhouse.pjrt.library";

  private static final String FILE = "libroundhouse_pjrt.so";

  private static final Logger log = LoggerFactory.getLogger(NativeLibrary.class);
  private static boolean loaded;

  private NativeLibrary() {}

  static synchronized void load() {
    if (loaded) {
      return;
    }
    String given = System.getProperty(PROPERTY);
    try {
      if (given == null) {
        loadFromJar();
      } else {
        log.info("JNI library: {} (system property {})", given, PROPERTY);
        System.load(Path.of(given).toAbsolutePath().toString());
      }
    } catch (IOException | UnsatisfiedLinkError e) {
      throw new DeviceException(
          Code.UNSUPPORTED,
          "the JNI library %s does not load: %s. Name another with -D%s; if the temporary folder forbids execution, choose one with -Djava.io.tmpdir."
              .formatted(
                  given == null ? path(FILE) + " in the jar" : given, e.getMessage(), PROPERTY),
          e);
    }
    loaded = true;
  }

  private static void loadFromJar() throws IOException {
    try (InputStream library = resource(FILE)) {
      Path copy = Files.createTempFile("roundhouse-pjrt-", ".so");
      try {
        Files.copy(library, copy, StandardCopyOption.REPLACE_EXISTING);
        System.load(copy.toString());
        log.info("JNI library: {} from the jar", path(FILE));
      } finally {
        // Linux keeps a mapped file; nothing is left behind whatever way the process ends.
        Files.delete(copy);
      }
    }
  }

  /** What was built for this platform, of this name. */
  static InputStream resource(String file) throws IOException {
    InputStream found = NativeLibrary.class.getResourceAsStream(path(file));
    if (found == null) {
      throw new IOException(
          path(file)
              + " is not in the jar, which was not built for this platform; build the module"
              + " pjrt-binding here");
    }
    return found;
  }

  private static String path(String file) {
    String arch = System.getProperty("os.arch");
    return "/native/"
        + System.getProperty("os.name").toLowerCase(Locale.ROOT)
        + "-"
        + (arch.equals("amd64") ? "x86_64" : arch)
        + "/"
        + file;
  }
}
