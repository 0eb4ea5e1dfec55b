package dev.roundhouse.benchmarks.firstlight;

import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.report.Cell;
import dev.roundhouse.benchmarks.report.Goal;
import dev.roundhouse.benchmarks.serving.ClosedLoop;
import dev.roundhouse.benchmarks.serving.InferServer;
import dev.roundhouse.benchmarks.serving.Rounds;
import dev.roundhouse.benchmarks.serving.RowModel;
import dev.roundhouse.benchmarks.serving.ServerSample;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.measure.Pairs;
import dev.roundhouse.measure.Scratch;
import dev.roundhouse.measure.Spinners;
import dev.roundhouse.measure.VcpuCondition;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * ModelInfer of 4 KiB: a worker process that executes on the real plugin, against bare grpc-java
 * servers that echo, through one client. Every round asks each server in turn.
 */
public final class ModelInfer implements Bench {
  private static final Goal LATENCY_GOAL = Goal.atMost(1.5);
  private static final Goal RATE_GOAL = Goal.atLeast(0.8);
  private static final int MANY = 64;

  @Override
  public String name() {
    return "model-infer-4k";
  }

  @Override
  public String about() {
    return "ModelInfer of 4 KiB by a worker process, against a bare grpc-java echo";
  }

  @Override
  public void run(BenchRun run) throws Exception {
    try (Scratch scratch = Scratch.create()) {
      Path repository = Files.createDirectory(scratch.path().resolve("models"));
      RowModel.NEGATE_FOUR_KIB.write(repository);
      run.say("%s: starting a worker and two echo servers", name());
      try (InferServer worker = InferServer.worker(run, scratch.path(), repository);
          InferServer echo = InferServer.echo("default", scratch.path());
          InferServer direct = InferServer.echo("direct", scratch.path())) {
        RowModel.NEGATE_FOUR_KIB.check(
            GRPCInferenceServiceGrpc.newBlockingStub(worker.channel())
                .modelInfer(RowModel.NEGATE_FOUR_KIB.request()));
        List<InferServer> servers = List.of(worker, echo, direct);
        for (InferServer server : servers) {
          warmUp(run, server);
        }
        for (VcpuCondition condition : VcpuCondition.values()) {
          measure(run, scratch, servers, condition, 1);
        }
        measure(run, scratch, servers, VcpuCondition.COLD, MANY);
        for (InferServer server : servers) {
          run.say("%s: %s since it started", server.name(), server.gcPauses());
        }
      }
    }
  }

  /** A number of requests, not of seconds: the JIT counts calls. */
  private void warmUp(BenchRun run, InferServer server) throws InterruptedException {
    long wanted = run.quick() ? 6_000 : 60_000;
    run.say("%s: warming %s up with %d requests", name(), server.name(), wanted);
    ClosedLoop load = server.loop(1);
    long done = 0;
    while (done < wanted) {
      done += load.run(MANY, Duration.ofMillis(200)).requests();
      done += load.run(1, Duration.ofMillis(100)).requests();
    }
  }

  private void measure(
      BenchRun run,
      Scratch scratch,
      List<InferServer> servers,
      VcpuCondition condition,
      int outstanding)
      throws IOException, InterruptedException {
    int rounds = run.quick() ? 5 : 11;
    Duration sample = Duration.ofMillis(run.quick() ? 200 : 1000);
    String load = outstanding == 1 ? "depth 1, " + condition : outstanding + " outstanding";
    run.say("%s, %s: %d rounds of %d ms each", name(), load, rounds, sample.toMillis());
    Rounds echo = new Rounds();
    Rounds direct = new Rounds();
    Path spinner = run.root().idleSpinner();
    try (Spinners spinners = Spinners.hold(condition, spinner, scratch.path())) {
      for (int i = 0; i < rounds; i++) {
        ServerSample ours = servers.get(0).sample(1, outstanding, sample);
        echo.add(ours, servers.get(1).sample(1, outstanding, sample));
        direct.add(ours, servers.get(2).sample(1, outstanding, sample));
      }
    }
    report(run, load, "", echo, outstanding, true);
    report(run, load, ", vs direct executor", direct, outstanding, false);
  }

  private void report(
      BenchRun run, String load, String peer, Rounds rounds, int outstanding, boolean judged) {
    if (outstanding == 1) {
      cell(run, load + ": p50" + peer, rounds.p50(), "us", judged ? LATENCY_GOAL : null);
    } else {
      cell(run, load + ": rate" + peer, rounds.rate(), "requests/s", judged ? RATE_GOAL : null);
    }
    cell(run, load + ": server CPU" + peer, rounds.cpu(), "CPU us/request", null);
  }

  private void cell(BenchRun run, String cell, Pairs pairs, String unit, @Nullable Goal goal) {
    run.cells().accept(new Cell(name(), cell, pairs.compare(), unit, goal));
  }
}
