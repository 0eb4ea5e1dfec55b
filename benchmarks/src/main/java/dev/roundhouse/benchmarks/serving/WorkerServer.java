package dev.roundhouse.benchmarks.serving;

import dev.roundhouse.benchmarks.bench.BenchRun;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Starts workers. */
public final class WorkerServer {
  private WorkerServer() {}

  /**
   * A worker of a name, with every model of {@code repository} ready.
   *
   * @param settings as on the command line
   */
  public static ServerProcess start(
      String name, BenchRun run, Path scratch, Path repository, String... settings)
      throws IOException {
    return start(name, run.root().workerJar(), scratch, repository, settings);
  }

  /**
   * A worker of any build.
   *
   * @param jar the executable jar of worker-service
   */
  public static ServerProcess start(
      String name, Path jar, Path scratch, Path repository, String... settings) throws IOException {
    List<String> all =
        new ArrayList<>(List.of("--roundhouse.worker.repository.directories=" + repository));
    all.addAll(List.of(settings));
    return JvmServer.service(name, jar, scratch, "failed=0", all);
  }
}
