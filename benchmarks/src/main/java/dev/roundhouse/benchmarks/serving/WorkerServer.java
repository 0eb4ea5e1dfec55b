package dev.roundhouse.benchmarks.serving;

import dev.roundhouse.benchmarks.BenchRun;
import dev.roundhouse.benchmarks.measure.Child;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Starts workers. */
public final class WorkerServer {
  private static final Pattern PORTS = Pattern.compile("\\bgrpc=(\\d+) http=(\\d+)");

  private WorkerServer() {}

  /**
   * A worker of a name, with every model of {@code repository} ready.
   *
   * @param settings as on the command line
   */
  public static ServerProcess start(
      String name, BenchRun run, Path scratch, Path repository, String... settings)
      throws IOException {
    List<String> program =
        new ArrayList<>(
            List.of(
                "-jar",
                run.root().workerJar().toString(),
                "--roundhouse.worker.repository.directories=" + repository,
                "--server.address=127.0.0.1",
                "--server.port=0",
                "--spring.grpc.server.address=127.0.0.1",
                "--spring.grpc.server.port=0",
                "--management.server.address=127.0.0.1",
                "--management.server.port=0"));
    program.addAll(List.of(settings));
    Child process = JvmServer.start(name, program, scratch);
    try {
      String ready = process.awaitLine("ready ");
      Matcher ports = PORTS.matcher(ready);
      if (!ports.find() || !ready.contains("failed=0")) {
        throw new IOException("the worker is not ready to be measured: " + ready);
      }
      process.ignoreOutput();
      return new ServerProcess(
          name, process, Integer.parseInt(ports.group(1)), Integer.parseInt(ports.group(2)));
    } catch (IOException | RuntimeException failure) {
      process.close();
      throw failure;
    }
  }
}
