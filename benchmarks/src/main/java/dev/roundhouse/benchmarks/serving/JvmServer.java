package dev.roundhouse.benchmarks.serving;

import dev.roundhouse.measure.Child;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Processes on this JVM's JDK, all with the same options. docs/benchmarks.md says why these. */
public final class JvmServer {
  private static final List<String> OPTIONS =
      List.of(
          "--enable-native-access=ALL-UNNAMED",
          "--sun-misc-unsafe-memory-access=allow",
          "-Xms512m",
          "-Xmx512m",
          "-XX:+AlwaysPreTouch");

  private static final List<String> ANY_PORTS =
      List.of(
          "--server.address=127.0.0.1",
          "--server.port=0",
          "--spring.grpc.server.address=127.0.0.1",
          "--spring.grpc.server.port=0",
          "--management.server.address=127.0.0.1",
          "--management.server.port=0");

  private static final Pattern PORTS = Pattern.compile("\\bgrpc=(\\d+) http=(\\d+) metrics=(\\d+)");

  private JvmServer() {}

  /**
   * Starts one.
   *
   * @param program what follows the JVM's options
   */
  public static Child start(String name, List<String> program, Path scratch) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(java());
    command.addAll(OPTIONS);
    command.add("-Xlog:gc:file=" + gcLog(scratch, name));
    command.addAll(program);
    return Child.start(name, command, Map.of(), scratch.resolve(name + ".log"));
  }

  /** The program of this JVM's JDK. */
  public static String java() {
    return Path.of(System.getProperty("java.home"), "bin", "java").toString();
  }

  /**
   * Starts an executable jar of ours on free ports and waits until it is ready.
   *
   * @param wanted what its line {@code ready ...} must say
   * @param settings as on the command line; the JVM's begin with {@code -D}
   */
  static ServerProcess service(
      String name, Path jar, Path scratch, String wanted, List<String> settings)
      throws IOException {
    List<String> program =
        new ArrayList<>(settings.stream().filter(JvmServer::isOfTheJvm).toList());
    program.addAll(List.of("-jar", jar.toString()));
    program.addAll(ANY_PORTS);
    program.addAll(settings.stream().filter(setting -> !isOfTheJvm(setting)).toList());
    Child process = start(name, program, scratch);
    try {
      String ready = process.awaitLine("ready ");
      Matcher ports = PORTS.matcher(ready);
      if (!ports.find() || !ready.contains(wanted)) {
        throw new IOException(
            "%s is not ready to be measured, for which '%s' is wanted: %s"
                .formatted(name, wanted, ready));
      }
      process.ignoreOutput();
      return new ServerProcess(
          name,
          process,
          Integer.parseInt(ports.group(1)),
          Integer.parseInt(ports.group(2)),
          Integer.parseInt(ports.group(3)));
    } catch (IOException | RuntimeException failure) {
      process.close();
      throw failure;
    }
  }

  private static boolean isOfTheJvm(String setting) {
    return setting.startsWith("-D");
  }

  static Path gcLog(Path scratch, String name) {
    return scratch.resolve(name + ".gc");
  }
}
