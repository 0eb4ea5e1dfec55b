package dev.roundhouse.benchmarks.wire;

import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.client.GrpcUnary;
import dev.roundhouse.benchmarks.report.Goal;
import dev.roundhouse.benchmarks.serving.RowModel;
import dev.roundhouse.benchmarks.serving.ServerProcess;
import dev.roundhouse.benchmarks.serving.SpanSink;
import dev.roundhouse.benchmarks.serving.WorkerServer;
import dev.roundhouse.measure.Scratch;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Workers that send the spans of some requests to a collector, against one that sends none. */
final class SpansCost implements Bench {
  private record Ratio(String name, String value, @Nullable Goal rate, @Nullable Goal cpu) {}

  /** What is sampled when nobody says otherwise, and everything. */
  private static final List<Ratio> RATIOS =
      List.of(
          new Ratio("spans of no request", "0", Goal.atLeast(0.995), Goal.atMost(1.005)),
          new Ratio("spans of 1 %", "0.01", Goal.atLeast(0.98), Goal.atMost(1.02)),
          new Ratio("spans of all", "1", null, null));

  private static final RowModel MODEL = RowModel.COPY_FOUR_KIB;
  private static final List<Integer> OUTSTANDING = List.of(1, 16, 64);

  @Override
  public String name() {
    return "wire-spans";
  }

  @Override
  public String about() {
    return "what sending spans to a collector costs, beside a worker that sends none";
  }

  @Override
  public void run(BenchRun run) throws Exception {
    try (Scratch scratch = Scratch.create();
        SpanSink sink = SpanSink.start()) {
      Path repository = Files.createDirectory(scratch.path().resolve("models"));
      MODEL.write(repository);
      for (Ratio ratio : RATIOS) {
        // Both are new each time: a process that had served longer would have the better code.
        try (ServerProcess without =
                WorkerServer.start("without", run, scratch.path(), repository);
            ServerProcess with = sampling(run, scratch, repository, sink, ratio)) {
          measure(run, with, without, ratio);
        }
        run.say("%s: the collector has %,d bytes", name(), sink.bytes());
      }
    }
  }

  private static ServerProcess sampling(
      BenchRun run, Scratch scratch, Path repository, SpanSink sink, Ratio ratio)
      throws IOException {
    String telemetry = "--roundhouse.worker.telemetry.";
    return WorkerServer.start(
        "sampling-" + ratio.value,
        run,
        scratch.path(),
        repository,
        telemetry + "endpoint=" + sink.endpoint(),
        telemetry + "protocol=http",
        telemetry + "sample-ratio=" + ratio.value);
  }

  private void measure(BenchRun run, ServerProcess with, ServerProcess without, Ratio ratio)
      throws IOException {
    try (Match match =
        new Match(
            new Contender(ratio.name, with, connect(with)),
            List.of(new Contender("without", without, connect(without))))) {
      run.say("%s: %s", name(), ratio.name);
      match.warmUp(OUTSTANDING.getLast(), Duration.ofSeconds(run.quick() ? 12 : 30));
      for (int outstanding : OUTSTANDING) {
        String load = "%s, 4 KiB, %d outstanding".formatted(ratio.name, outstanding);
        Score score = match.play(run, outstanding);
        if (outstanding == 1) {
          score.reportP50(run, name(), load, null);
        }
        score.reportRate(run, name(), load, ratio.rate);
        score.reportCpu(run, name(), load, ratio.cpu);
      }
    }
  }

  private static GrpcUnary connect(ServerProcess server) throws IOException {
    return GrpcUnary.connect(server.grpcPort(), MODEL.request(), MODEL.answerRow());
  }
}
