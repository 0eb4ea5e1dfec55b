package dev.roundhouse.benchmarks.engine;

import dev.roundhouse.measure.Child;
import dev.roundhouse.measure.Fields;
import dev.roundhouse.measure.Scratch;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Starts {@link EngineProcess} on this JVM's JDK. */
record OurEngine(Scratch scratch) {
  private static final List<String> COMMON =
      List.of("--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow");

  /** For speed: a fixed heap, touched beforehand. */
  private static final List<String> FIXED_HEAP =
      List.of("-Xms512m", "-Xmx512m", "-XX:+AlwaysPreTouch");

  /** For memory: free heap goes back to the system, and threads come for models only. */
  private static final List<String> TIGHT_HEAP =
      List.of(
          "-Xms16m",
          "-Xmx2g",
          "-XX:MinHeapFreeRatio=5",
          "-XX:MaxHeapFreeRatio=10",
          "-XX:-UseDynamicNumberOfCompilerThreads",
          "-XX:-UseDynamicNumberOfGCThreads");

  /** In place of a number of models: one that calls three, one after the other. */
  static final String ENSEMBLE = "ensemble";

  /** A warm process: the JIT counts calls, so this runs until enough were made. */
  Side warm(int models, long requests) throws IOException {
    return warm(Integer.toString(models), requests);
  }

  /** As {@link #warm(int, long)}, of an ensemble of three steps. */
  Side warmEnsemble(long requests) throws IOException {
    return warm(ENSEMBLE, requests);
  }

  private Side warm(String models, long requests) throws IOException {
    Side side = start(models, FIXED_HEAP);
    try {
      for (long done = 0; done < requests; ) {
        done += side.run(64, Duration.ofMillis(300)).requests();
        done += side.run(1, Duration.ofMillis(100)).requests();
      }
      return side;
    } catch (IOException | RuntimeException failure) {
      side.close();
      throw failure;
    }
  }

  /** A process whose memory can be counted. */
  Side tight(int models) throws IOException {
    return start(Integer.toString(models), TIGHT_HEAP);
  }

  /** Loads until there are so many models; returns how long that took. */
  static Duration load(Side side, int models) throws IOException {
    Fields line = Fields.parse(side.process().ask("load " + models));
    return Duration.ofNanos(line.get("load_us") * 1_000);
  }

  private Side start(String models, List<String> heap) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(COMMON);
    command.addAll(heap);
    command.addAll(
        List.of(
            "-cp", System.getProperty("java.class.path"), EngineProcess.class.getName(), models));
    String name = "engine-" + models;
    return Side.ready(Child.start(name, command, Map.of(), scratch.path().resolve(name + ".log")));
  }
}
