package dev.roundhouse.benchmarks.wire;

import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.client.GrpcStream;
import dev.roundhouse.benchmarks.client.GrpcUnary;
import dev.roundhouse.benchmarks.report.Goal;
import dev.roundhouse.benchmarks.serving.RowModel;
import dev.roundhouse.benchmarks.wire.Match.Way;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.measure.Scratch;
import java.io.IOException;
import java.time.Duration;

/**
 * ModelInfer and ModelStreamInfer of a worker that executes on the real plugin, against a real
 * Triton whose backend copies.
 */
final class TritonGrpc implements Bench {
  private static final Goal P50 = Goal.atMost(0.6);

  @Override
  public String name() {
    return "wire-triton";
  }

  @Override
  public String about() {
    return "ModelInfer and ModelStreamInfer against a real Triton, from 64 B to 588 KiB";
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
        for (Kind kind : Kind.values()) {
          measure(run, servers, size, kind, warmUp);
          warmUp = Duration.ofSeconds(run.quick() ? 2 : 5); // what all have in common is warm
        }
      }
    }
  }

  private static ModelInferRequest request(RowModel model, String name) {
    return model.request().toBuilder().setModelName(name).build();
  }

  private enum Kind {
    UNARY("unary") {
      @Override
      Way way(RowModel model) {
        return (server, name, wanted) ->
            GrpcUnary.connect(server.grpcPort(), request(model, name), wanted);
      }
    },
    STREAM("stream") {
      @Override
      Way way(RowModel model) {
        return (server, name, wanted) ->
            GrpcStream.connect(server.grpcPort(), request(model, name), wanted);
      }
    };

    private final String words;

    Kind(String words) {
      this.words = words;
    }

    abstract Way way(RowModel model);
  }

  private void measure(BenchRun run, ServerPair servers, RowSize size, Kind kind, Duration warmUp)
      throws IOException {
    try (Match match = Match.of(servers, size.model(), kind.way(size.model()))) {
      run.say(
          "%s: %s, %s: %d s of warming up", name(), size.name(), kind.words, warmUp.toSeconds());
      match.warmUp(size.outstanding().getLast(), warmUp);
      for (int outstanding : size.outstanding()) {
        String load = "%s, %s, %d outstanding".formatted(size.name(), kind.words, outstanding);
        run.say("%s: %s", name(), load);
        RunCell modelRun = RunCell.begin(servers.ours(), size.model().name());
        Score score = match.play(run, outstanding);
        if (outstanding == 1) {
          score.reportP50(run, name(), load, P50);
          modelRun.report(run, name(), load);
        }
        score.reportRate(run, name(), load, outstanding == 1 ? null : size.rate());
        score.reportCpu(run, name(), load, size.cpu());
      }
    }
  }
}
