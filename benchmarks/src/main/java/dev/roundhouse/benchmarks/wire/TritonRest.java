package dev.roundhouse.benchmarks.wire;

import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.client.RestClient;
import dev.roundhouse.benchmarks.client.RestRequest;
import dev.roundhouse.benchmarks.report.Goal;
import dev.roundhouse.benchmarks.serving.RowModel;
import dev.roundhouse.measure.Scratch;
import java.io.IOException;
import java.time.Duration;
import java.util.List;

/** Inference over HTTP with binary tensors, against a real Triton whose backend copies. */
final class TritonRest implements Bench {
  private static final Goal RATE = Goal.atLeast(1);
  private static final List<Integer> CONNECTIONS = List.of(1, 16);

  @Override
  public String name() {
    return "wire-rest";
  }

  @Override
  public String about() {
    return "HTTP with binary tensors against a real Triton, from 64 B to 588 KiB";
  }

  @Override
  public boolean comparesBuilds() {
    return true;
  }

  @Override
  public void run(BenchRun run) throws Exception {
    try (Scratch scratch = Scratch.create();
        ServerPair servers =
            ServerPair.start(
                run, name(), scratch, RowSize.models(), TritonSetups.of(RowSize.models()))) {
      Duration warmUp = Duration.ofSeconds(run.quick() ? 6 : 15);
      for (RowSize size : RowSize.ALL) {
        measure(run, servers, size, warmUp);
        warmUp = Duration.ofSeconds(run.quick() ? 2 : 5);
      }
    }
  }

  private void measure(BenchRun run, ServerPair servers, RowSize size, Duration warmUp)
      throws IOException {
    RowModel model = size.model();
    Match.Way way =
        (server, name, wanted) ->
            RestClient.connect(
                server.httpPort(), new RestRequest(name, 1, model.elements(), model.row()), wanted);
    try (Match match = Match.of(servers, model, way)) {
      run.say("%s: %s: %d s of warming up", name(), size.name(), warmUp.toSeconds());
      match.warmUp(CONNECTIONS.getLast(), warmUp);
      for (int connections : CONNECTIONS) {
        String load =
            "%s, %d connection%s".formatted(size.name(), connections, connections == 1 ? "" : "s");
        run.say("%s: %s", name(), load);
        Score score = match.play(run, connections);
        if (connections == 1) {
          score.reportP50(run, name(), load, null);
        }
        score.reportRate(run, name(), load, RATE);
        score.reportCpu(run, name(), load, null);
      }
    }
  }
}
