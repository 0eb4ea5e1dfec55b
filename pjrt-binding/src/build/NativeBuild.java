import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/**
 * Builds the JNI library with CMake, for Maven. Arguments: sources, generated JNI headers, the
 * plugin's fetch script (it knows where pjrt_c_api.h lies), build folder, output folder.
 *
 * <p>Runs as a single source file on the JDK whose jni.h is wanted.
 */
final class NativeBuild {
  private static final String LIBRARY = "libroundhouse_pjrt.so";

  private NativeBuild() {}

  public static void main(String[] args) throws IOException, InterruptedException {
    Path sources = Path.of(args[0]);
    Path headers = Path.of(args[1]);
    Path fetch = Path.of(args[2]).normalize();
    Path build = Path.of(args[3]);
    Path output = Path.of(args[4]).resolve(platform());

    Path library = output.resolve(LIBRARY);
    Path builtFor = build.resolve("plugin");
    // The script names the plugin's version, and with it the pjrt_c_api.h that is compiled against.
    byte[] plugins = Files.readAllBytes(fetch);
    if (Files.exists(library)
        && newest(library) >= Math.max(newest(sources), newest(headers))
        && Files.exists(builtFor)
        && Arrays.equals(Files.readAllBytes(builtFor), plugins)) {
      return;
    }
    Path plugin = Path.of(lastLine(fetch.toString()));
    Files.createDirectories(output);
    List<String> configure = new ArrayList<>(List.of("cmake", "-S", sources.toString()));
    configure.addAll(List.of("-B", build.toString(), "-DCMAKE_BUILD_TYPE=Release"));
    // An existing cache keeps its generator; naming another one would fail.
    if (!Files.exists(build.resolve("CMakeCache.txt"))) {
      configure.addAll(List.of("-G", found("ninja") ? "Ninja" : "Unix Makefiles"));
    }
    configure.add("-DJAVA_HOME=" + System.getProperty("java.home"));
    configure.add("-DJNI_HEADERS=" + headers);
    configure.add("-DPJRT_HEADERS=" + plugin.resolve("include"));
    configure.add("-DOUTPUT=" + output);
    run(configure);
    run(List.of("cmake", "--build", build.toString()));
    // A relink that changed nothing leaves an old time stamp, and the check above would never hold.
    Files.setLastModifiedTime(library, FileTime.fromMillis(System.currentTimeMillis()));
    Files.write(builtFor, plugins);
  }

  /** The folder that the loader looks in: linux-x86_64, linux-aarch64. */
  private static String platform() {
    String arch = System.getProperty("os.arch");
    return System.getProperty("os.name").toLowerCase(Locale.ROOT) + "-" + (arch.equals("amd64") ? "x86_64" : arch);
  }

  private static long newest(Path root) throws IOException {
    try (Stream<Path> files = Files.walk(root)) {
      return files.mapToLong(file -> file.toFile().lastModified()).max().orElse(0);
    }
  }

  private static boolean found(String program) {
    return Stream.of(System.getenv("PATH").split(":"))
        .anyMatch(folder -> Files.isExecutable(Path.of(folder, program)));
  }

  private static String lastLine(String command) throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    List<String> lines = process.inputReader().readAllLines();
    check(command, process.waitFor());
    return lines.getLast();
  }

  private static void run(List<String> command) throws IOException, InterruptedException {
    if (!found(command.getFirst())) {
      System.err.println(
          command.getFirst() + " is missing; install it: apt-get install cmake ninja-build g++");
      System.exit(1);
    }
    check(command.getFirst(), new ProcessBuilder(command).inheritIO().start().waitFor());
  }

  private static void check(String command, int status) {
    if (status != 0) {
      System.err.println(command + " failed with status " + status);
      System.exit(1);
    }
  }
}
