package dev.roundhouse.benchmarks.serving;

import dev.roundhouse.measure.PeerAbsentException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Triton's load generator.
 *
 * @param folder as {@code tools/peers/fetch} leaves it
 */
public record PerfAnalyzer(Path folder) {
  private static final Path PROGRAM = Path.of("tritonclient-2.51.0.data/data/bin/perf_analyzer");
  private static final Duration PATIENCE = Duration.ofSeconds(120);

  /** It takes three windows and asks whether they agree to this: always, for pairs are compared. */
  private static final String ANY_DEVIATION = "999";

  /** What it measured at its side. */
  public record Figures(double inferencesPerSecond, double p50Micros) {

    /** Reads its file: a line of names, and one of figures. */
    static Figures parse(List<String> csv) throws IOException {
      if (csv.size() != 2) {
        throw new IOException("perf_analyzer's file has not two lines: " + csv);
      }
      List<String> names = Arrays.asList(csv.getFirst().split(",", -1));
      String[] values = csv.getLast().split(",", -1);
      return new Figures(
          value(names, values, "Inferences/Second"), value(names, values, "p50 latency"));
    }

    private static double value(List<String> names, String[] values, String name)
        throws IOException {
      int column = names.indexOf(name);
      if (column < 0 || column >= values.length) {
        throw new IOException("perf_analyzer's file has no column '%s'".formatted(name));
      }
      return Double.parseDouble(values[column]);
    }
  }

  /**
   * Finds it in the cache.
   *
   * @throws PeerAbsentException when it cannot run here or has not been fetched
   */
  public static PerfAnalyzer find() throws PeerAbsentException {
    return new PerfAnalyzer(FetchedPeer.find("perf-analyzer", "perf-analyzer-2.51.0", PROGRAM));
  }

  /**
   * Keeps so many requests of a model outstanding over gRPC.
   *
   * @param window of which it takes three
   * @param options further ones of its command line
   */
  public Figures run(
      ServerProcess server,
      String model,
      int outstanding,
      Duration window,
      Path scratch,
      List<String> options)
      throws IOException, InterruptedException {
    Path csv = scratch.resolve("perf_analyzer.csv");
    Path log = scratch.resolve("perf_analyzer.log");
    Files.deleteIfExists(csv);
    List<String> command =
        new ArrayList<>(
            List.of(
                folder.resolve(PROGRAM).toString(),
                "-m",
                model,
                "-i",
                "grpc",
                "-u",
                "127.0.0.1:" + server.grpcPort(),
                "--concurrency-range",
                outstanding + ":" + outstanding,
                "--measurement-interval",
                Long.toString(window.toMillis()),
                "--stability-percentage",
                ANY_DEVIATION,
                "-f",
                csv.toString()));
    command.addAll(options);
    ProcessBuilder builder =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile());
    builder
        .environment()
        .put(
            "LD_LIBRARY_PATH",
            folder.resolve("nvidia/cuda_runtime/lib")
                + ":"
                + folder.resolve("usr/lib/x86_64-linux-gnu"));
    Process process = builder.start();
    try {
      boolean ended = process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS);
      if (!ended || process.exitValue() != 0 || !Files.exists(csv)) {
        throw new IOException(
            "perf_analyzer against %s %s:\n%s"
                .formatted(
                    server.name(),
                    ended
                        ? "ended with " + process.exitValue()
                        : "ran for %d s".formatted(PATIENCE.toSeconds()),
                    Files.readString(log)));
      }
    } finally {
      process.destroyForcibly();
    }
    return Figures.parse(Files.readAllLines(csv));
  }
}
