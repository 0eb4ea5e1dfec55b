package dev.roundhouse.benchmarks.wire;

import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.serving.RowModel;
import dev.roundhouse.benchmarks.serving.ServerProcess;
import dev.roundhouse.benchmarks.serving.TritonInstallation;
import dev.roundhouse.benchmarks.serving.TritonModel;
import dev.roundhouse.benchmarks.serving.TritonServer;
import dev.roundhouse.benchmarks.serving.WorkerServer;
import dev.roundhouse.measure.PeerAbsentException;
import dev.roundhouse.measure.Scratch;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A worker and what it is measured against: an earlier build's, or a Triton where it can be had.
 *
 * @param triton null when there is none; that has been said
 * @param before a worker of another build with the same models, null unless it was asked for
 */
record ServerPair(ServerProcess ours, @Nullable TritonServer triton, @Nullable ServerProcess before)
    implements AutoCloseable {

  /**
   * Starts both.
   *
   * @param models of the worker
   * @param theirs of Triton
   * @param settings of the worker, as on the command line
   */
  static ServerPair start(
      BenchRun run,
      String bench,
      Scratch scratch,
      List<RowModel> models,
      List<TritonModel> theirs,
      String... settings)
      throws IOException {
    Path repository = Files.createDirectory(scratch.path().resolve("models"));
    for (RowModel model : models) {
      model.write(repository);
    }
    return start(run, bench, scratch, repository, theirs, settings);
  }

  /**
   * Starts both.
   *
   * @param repository of the worker
   */
  static ServerPair start(
      BenchRun run,
      String bench,
      Scratch scratch,
      Path repository,
      List<TritonModel> theirs,
      String... settings)
      throws IOException {
    if (run.before() != null) {
      return builds(run, run.before(), bench, scratch, repository, settings);
    }
    run.say("%s: starting a worker and Triton", bench);
    TritonServer triton = triton(run, bench, scratch, theirs);
    try {
      return new ServerPair(
          WorkerServer.start("worker", run, scratch.path(), repository, settings), triton, null);
    } catch (IOException | RuntimeException failure) {
      if (triton != null) {
        triton.close();
      }
      throw failure;
    }
  }

  private static ServerPair builds(
      BenchRun run, Path jar, String bench, Scratch scratch, Path repository, String... settings)
      throws IOException {
    run.say("%s: starting a worker of this build and one of %s", bench, jar);
    ServerProcess before = WorkerServer.start("before", jar, scratch.path(), repository, settings);
    try {
      return new ServerPair(
          WorkerServer.start("worker", run, scratch.path(), repository, settings), null, before);
    } catch (IOException | RuntimeException failure) {
      before.close();
      throw failure;
    }
  }

  private static @Nullable TritonServer triton(
      BenchRun run, String bench, Scratch scratch, List<TritonModel> models) throws IOException {
    try {
      TritonServer triton =
          TritonServer.start(TritonInstallation.find(run.root()), scratch.path(), models);
      models.stream()
          .filter(model -> !triton.models().contains(model))
          .forEach(model -> run.say("%s: Triton could not load %s", bench, model.name()));
      return triton;
    } catch (PeerAbsentException absent) {
      run.say("%s: ours alone, not compared: %s", bench, absent.reason());
      return null;
    }
  }

  @Override
  public void close() {
    ours.close();
    if (triton != null) {
      triton.close();
    }
    if (before != null) {
      before.close();
    }
  }
}
