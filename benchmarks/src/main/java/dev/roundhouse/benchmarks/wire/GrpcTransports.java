package dev.roundhouse.benchmarks.wire;

import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.report.Cell;
import dev.roundhouse.benchmarks.serving.InferServer;
import dev.roundhouse.benchmarks.serving.Rounds;
import dev.roundhouse.benchmarks.serving.RowModel;
import dev.roundhouse.benchmarks.serving.ServerSample;
import dev.roundhouse.measure.Scratch;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * ModelInfer of a worker by its own HTTP/2, against the same worker by grpc-java's transport and a
 * bare grpc-java echo. Every round asks each server in turn, through one client for each.
 */
public final class GrpcTransports implements Bench {
  private static final int MANY = 64;

  @Override
  public String name() {
    return "wire-grpc";
  }

  @Override
  public String about() {
    return "ModelInfer by the worker's own HTTP/2, against grpc-java's transport";
  }

  @Override
  public void run(BenchRun run) throws Exception {
    try (Scratch scratch = Scratch.create()) {
      Path repository = Files.createDirectory(scratch.path().resolve("models"));
      RowModel.NEGATE_FOUR_KIB.write(repository);
      run.say("%s: starting two workers and an echo server", name());
      try (InferServer http2 = worker(run, scratch, repository, "http2");
          InferServer grpcJava = worker(run, scratch, repository, "grpc-java");
          InferServer echo = InferServer.echo("direct", scratch.path())) {
        List<InferServer> servers = List.of(http2, grpcJava, echo);
        for (InferServer server : servers) {
          run.say("%s: warming %s up", name(), server.name());
          server.sample(1, MANY, Duration.ofSeconds(run.quick() ? 3 : 15));
          server.sample(MANY, 8, Duration.ofSeconds(run.quick() ? 1 : 5));
        }
        measure(run, servers, 1, 1);
        measure(run, servers, 1, MANY);
        measure(run, servers, MANY, 1);
        measure(run, servers, MANY, 8);
      }
    }
  }

  private static InferServer worker(
      BenchRun run, Scratch scratch, Path repository, String transport) throws Exception {
    return InferServer.worker(
        transport, run, scratch.path(), repository, "-Dfixture.grpc-transport=" + transport);
  }

  private void measure(BenchRun run, List<InferServer> servers, int rows, int outstanding)
      throws InterruptedException {
    int rounds = run.quick() ? 5 : 11;
    Duration sample = Duration.ofMillis(run.quick() ? 300 : 1000);
    Rounds transport = new Rounds();
    Rounds echo = new Rounds();
    for (int i = 0; i < rounds; i++) {
      ServerSample ours = servers.get(0).sample(rows, outstanding, sample);
      transport.add(ours, servers.get(1).sample(rows, outstanding, sample));
      echo.add(ours, servers.get(2).sample(rows, outstanding, sample));
    }
    String load =
        "%d KiB, %d outstanding"
            .formatted(rows * RowModel.NEGATE_FOUR_KIB.rowBytes() >> 10, outstanding);
    report(run, load + ", vs grpc-java's transport", transport);
    report(run, load + ", vs bare grpc-java echo", echo);
  }

  private void report(BenchRun run, String load, Rounds rounds) {
    run.cells().accept(new Cell(name(), load + ": p50", rounds.p50().compare(), "us", null));
    run.cells()
        .accept(new Cell(name(), load + ": rate", rounds.rate().compare(), "requests/s", null));
    run.cells()
        .accept(
            new Cell(
                name(), load + ": server CPU", rounds.cpu().compare(), "CPU us/request", null));
  }
}
