package dev.roundhouse.benchmarks.page;

import com.google.protobuf.ByteString;
import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.client.GrpcUnary;
import dev.roundhouse.benchmarks.client.ThinClient;
import dev.roundhouse.benchmarks.report.Cell;
import dev.roundhouse.benchmarks.report.Goal;
import dev.roundhouse.benchmarks.serving.Rounds;
import dev.roundhouse.benchmarks.serving.RowModel;
import dev.roundhouse.benchmarks.serving.ServerProcess;
import dev.roundhouse.benchmarks.serving.ServerSample;
import dev.roundhouse.benchmarks.serving.WorkerServer;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.measure.Comparison;
import dev.roundhouse.measure.Pairs;
import dev.roundhouse.measure.Scratch;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * A worker under all the load that a connection can make, while its live page is open, against the
 * same worker while none is, in turns. The page is a reader of its events: what a browser makes of
 * them is not in the figures.
 */
public final class OpenPage implements Bench {
  private static final RowModel MODEL = new RowModel(64, List.of(1), RowModel.Work.NEGATE);
  private static final int ASKED = 300;
  private static final int OUTSTANDING = 256;
  private static final Goal RATE = Goal.atLeast(0.99);
  private static final Goal CPU = Goal.atMost(1.01);

  /** After which a worker has noticed that nobody reads: it writes once a second. */
  private static final Duration CLOSED = Duration.ofMillis(1_500);

  @Override
  public String name() {
    return "page";
  }

  @Override
  public String about() {
    return "a worker's throughput while its live page is open, against while it is not";
  }

  @Override
  public void run(BenchRun run) throws Exception {
    for (int models : List.of(1_000, 10_000)) {
      try (Scratch scratch = Scratch.create()) {
        run.say("%s: writing and loading %d models", name(), models);
        Path repository = Files.createDirectory(scratch.path().resolve("models"));
        for (int i = 0; i < models; i++) {
          MODEL.write(repository, modelName(i));
        }
        Path cache = scratch.path().resolve("cache");
        try (ServerProcess worker =
                WorkerServer.start(
                    "worker",
                    run,
                    scratch.path(),
                    repository,
                    "--roundhouse.worker.compile.cache=" + cache);
            ThinClient client = connect(worker)) {
          measure(run, models, worker, client);
        }
      }
    }
  }

  private static String modelName(int index) {
    return "model-%05d".formatted(index);
  }

  /** To some of the models, in turn. */
  private static ThinClient connect(ServerProcess worker) throws IOException {
    List<ModelInferRequest> requests =
        IntStream.range(0, ASKED)
            .mapToObj(i -> MODEL.request().toBuilder().setModelName(modelName(i)).build())
            .toList();
    ByteString wanted = MODEL.answerRow();
    return GrpcUnary.connect(worker.grpcPort(), requests, wanted);
  }

  private void measure(BenchRun run, int models, ServerProcess worker, ThinClient client)
      throws IOException, InterruptedException {
    Duration warmUp = Duration.ofSeconds(run.quick() ? 5 : 20);
    Duration sample = Duration.ofSeconds(run.quick() ? 2 : 5);
    int rounds = run.quick() ? 4 : 16;
    run.say("%s: %d models: %d s of warming up", name(), models, 2 * warmUp.toSeconds());
    client.run(OUTSTANDING, warmUp);
    try (EventsReader page = EventsReader.open(worker.operatorsPort(), models)) {
      client.run(OUTSTANDING, warmUp);
    }
    run.say("%s: %d models: %d turns of %d s", name(), models, 2 * rounds, sample.toSeconds());
    Rounds turns = new Rounds();
    double[] firstMillis = new double[rounds];
    for (int round = 0; round < rounds; round++) {
      Thread.sleep(CLOSED.toMillis());
      ServerSample before = worker.sample(client, OUTSTANDING, sample);
      ServerSample open;
      try (EventsReader page = EventsReader.open(worker.operatorsPort(), models)) {
        firstMillis[round] = page.allToldMillis();
        open = worker.sample(client, OUTSTANDING, sample);
      }
      turns.add(open, before);
    }
    report(run, models, turns, firstMillis);
  }

  private void report(BenchRun run, int models, Rounds turns, double[] firstMillis) {
    String load = "%d models, %d asked, page open vs closed: ".formatted(models, ASKED);
    cell(run, load + "rate", turns.rate(), "requests/s", RATE);
    cell(run, load + "worker's CPU", turns.cpu(), "CPU us/request", CPU);
    Arrays.sort(firstMillis);
    run.cells()
        .accept(
            new Cell(
                name(),
                "%d models, idle: until all are told".formatted(models),
                Comparison.alone(firstMillis[firstMillis.length / 2]),
                "ms",
                null));
  }

  private void cell(BenchRun run, String cell, Pairs pairs, String unit, Goal goal) {
    run.cells().accept(new Cell(name(), cell, pairs.compare(), unit, goal));
  }
}
