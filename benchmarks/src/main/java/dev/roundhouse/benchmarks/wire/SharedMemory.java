package dev.roundhouse.benchmarks.wire;

import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.client.GrpcUnary;
import dev.roundhouse.benchmarks.report.Goal;
import dev.roundhouse.benchmarks.serving.RowModel;
import dev.roundhouse.benchmarks.wire.Match.Way;
import dev.roundhouse.measure.Scratch;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Tensors in system shared memory, one request at a time: against the same worker with tensors in
 * the messages, and against Triton's shared memory.
 */
final class SharedMemory implements Bench {
  private record Size(String name, RowModel model, Goal beside) {}

  private static final List<Size> SIZES =
      List.of(
          new Size(RowSize.IMAGE.name(), RowSize.IMAGE.model(), Goal.atMost(0.3)),
          new Size(
              "16 MiB", new RowModel(16 << 20, List.of(1), RowModel.Work.COPY), Goal.atMost(0.05)));

  @Override
  public String name() {
    return "wire-shm";
  }

  @Override
  public String about() {
    return "system shared memory against tensors in messages, and against Triton's";
  }

  @Override
  public void run(BenchRun run) throws Exception {
    List<RowModel> models = SIZES.stream().map(Size::model).toList();
    try (Scratch scratch = Scratch.create();
        ServerPair servers =
            ServerPair.start(
                run,
                name(),
                scratch,
                models,
                TritonSetups.of(models),
                "--roundhouse.worker.shared-memory.enabled=true")) {
      for (Size size : SIZES) {
        measure(run, servers, size);
      }
    }
  }

  private void measure(BenchRun run, ServerPair servers, Size size) throws IOException {
    RowModel model = size.model();
    Way shared =
        (server, name, wanted) ->
            SharedMemoryClient.connect(server.grpcPort(), model, name, wanted);
    Way inline =
        (server, name, wanted) ->
            GrpcUnary.connect(
                server.grpcPort(), model.request().toBuilder().setModelName(name).build(), wanted);
    RunCell modelRun = RunCell.begin(servers.ours(), model.name());
    try (Match match =
        Match.ofTwoWays(servers.ours(), model, shared, inline, "inline, both ours")) {
      play(run, match, size.name(), size.beside());
    }
    modelRun.report(run, name(), size.name());
    if (servers.triton() != null) {
      try (Match match = Match.of(servers, model, shared)) {
        play(run, match, size.name(), null);
      }
    }
  }

  private void play(BenchRun run, Match match, String size, @Nullable Goal goal)
      throws IOException {
    run.say("%s: %s", name(), size);
    match.warmUp(1, Duration.ofSeconds(run.quick() ? 3 : 10));
    Score score = match.play(run, 1);
    score.reportP50(run, name(), size + ", shared memory", goal);
    score.reportCpu(run, name(), size + ", shared memory", null);
  }
}
