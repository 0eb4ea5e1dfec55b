package dev.roundhouse.benchmarks.serving;

import dev.roundhouse.benchmarks.measure.Child;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Processes on this JVM's JDK, all with the same options. docs/benchmarks.md says why these. */
final class JvmServer {
  private static final List<String> OPTIONS =
      List.of(
          "--enable-native-access=ALL-UNNAMED",
          "--sun-misc-unsafe-memory-access=allow",
          "-Xms512m",
          "-Xmx512m",
          "-XX:+AlwaysPreTouch");

  private JvmServer() {}

  /**
   * Starts one.
   *
   * @param program what follows the JVM's options
   */
  static Child start(String name, List<String> program, Path scratch) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(OPTIONS);
    command.add("-Xlog:gc:file=" + gcLog(scratch, name));
    command.addAll(program);
    return Child.start(name, command, Map.of(), scratch.resolve(name + ".log"));
  }

  static Path gcLog(Path scratch, String name) {
    return scratch.resolve(name + ".gc");
  }
}
