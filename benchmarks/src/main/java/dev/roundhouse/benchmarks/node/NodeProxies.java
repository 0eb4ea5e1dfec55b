package dev.roundhouse.benchmarks.node;

import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.client.ThinClient;
import dev.roundhouse.benchmarks.report.Cell;
import dev.roundhouse.benchmarks.report.Goal;
import dev.roundhouse.benchmarks.serving.GatewayServer;
import dev.roundhouse.benchmarks.serving.Rounds;
import dev.roundhouse.benchmarks.serving.RowModel;
import dev.roundhouse.benchmarks.serving.ServerProcess;
import dev.roundhouse.benchmarks.serving.ServerSample;
import dev.roundhouse.benchmarks.serving.WorkerServer;
import dev.roundhouse.measure.PeerAbsentException;
import dev.roundhouse.measure.Scratch;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Inference through the gateway, through proxies before the same workers, and without anything
 * between. Every round asks each in turn, in another order.
 */
final class NodeProxies implements Bench {
  private static final RowModel LARGE = new RowModel(588 << 10, List.of(1), RowModel.Work.NEGATE);
  private static final int FEW = 2;
  private static final int MANY = 8;
  private static final Goal NO_WORSE = Goal.atMost(1);
  private static final Goal NEAR_DIRECT = Goal.atMost(1.3);
  private static final Goal FASTER = Goal.atLeast(1);

  private final String name;
  private final String about;
  private final Protocol protocol;
  private final int mostWorkers;

  private NodeProxies(String name, String about, Protocol protocol, int mostWorkers) {
    this.name = name;
    this.about = about;
    this.protocol = protocol;
    this.mostWorkers = mostWorkers;
  }

  static Bench grpc() {
    return new NodeProxies(
        "node-proxies",
        "ModelInfer through the gateway, beside nginx, HAProxy, Envoy and no proxy",
        Protocol.GRPC,
        MANY);
  }

  static Bench rest() {
    return new NodeProxies(
        "node-rest",
        "inference over HTTP with binary tensors through the gateway, beside nginx, HAProxy and no proxy",
        Protocol.REST,
        FEW);
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public String about() {
    return about;
  }

  @Override
  public void run(BenchRun run) throws Exception {
    try (Scratch scratch = Scratch.create()) {
      Path repository = Files.createDirectory(scratch.path().resolve("models"));
      RowModel.NEGATE_FOUR_KIB.write(repository);
      LARGE.write(repository);
      List<ServerProcess> started = new ArrayList<>();
      try {
        measure(run, start(run, scratch.path(), repository, started));
      } finally {
        Collections.reverse(started);
        started.forEach(ServerProcess::close);
      }
    }
  }

  /**
   * The ways to the workers, by name.
   *
   * @param gatewayOfMany null when there are no more than two
   */
  private record Ways(
      List<ServerProcess> workers,
      ServerProcess gateway,
      @Nullable ServerProcess gatewayOfMany,
      List<ServerProcess> proxies) {

    ServerProcess direct() {
      return workers.getFirst();
    }

    List<ServerProcess> all() {
      List<ServerProcess> all = new ArrayList<>(List.of(direct(), gateway));
      if (gatewayOfMany != null) {
        all.add(gatewayOfMany);
      }
      all.addAll(proxies);
      return all;
    }
  }

  private Ways start(BenchRun run, Path scratch, Path repository, List<ServerProcess> started)
      throws IOException {
    run.say("%s: starting %d workers", name(), mostWorkers);
    List<ServerProcess> workers = new ArrayList<>();
    for (int i = 0; i < mostWorkers; i++) {
      workers.add(
          keep(
              started,
              WorkerServer.start(
                  "w" + i, run, scratch, repository, "--spring.main.banner-mode=off")));
    }
    List<ServerProcess> few = workers.subList(0, FEW);
    run.say("%s: starting gateway and proxies", name());
    ServerProcess gateway = keep(started, GatewayServer.start("gateway", run, scratch, few));
    ServerProcess ofMany =
        mostWorkers == FEW
            ? null
            : keep(started, GatewayServer.start("gateway-8", run, scratch, workers));
    List<ServerProcess> proxies = new ArrayList<>();
    for (Proxy proxy : protocol.proxies()) {
      try {
        proxies.add(keep(started, proxy.start(protocol, scratch, few)));
      } catch (PeerAbsentException absent) {
        run.say("%s: not compared: %s", name(), absent.reason());
      }
    }
    return new Ways(workers, gateway, ofMany, proxies);
  }

  private static ServerProcess keep(List<ServerProcess> started, ServerProcess process) {
    started.add(process);
    return process;
  }

  private void measure(BenchRun run, Ways ways) throws IOException {
    for (RowModel model : List.of(RowModel.NEGATE_FOUR_KIB, LARGE)) {
      Map<ServerProcess, ThinClient> clients = new LinkedHashMap<>();
      try {
        for (ServerProcess way : ways.all()) {
          clients.put(way, protocol.connect(way, model));
        }
        int most = model == LARGE ? 8 : 64;
        warmUp(run, ways, clients, model, most);
        for (int outstanding : List.of(1, most)) {
          measure(run, ways, clients, model, outstanding);
        }
      } finally {
        for (ThinClient client : clients.values()) {
          client.close();
        }
      }
    }
  }

  /** The workers first, so that none of the ways to them pays for that. */
  private void warmUp(
      BenchRun run, Ways ways, Map<ServerProcess, ThinClient> clients, RowModel model, int most)
      throws IOException {
    run.say("%s: %d KiB: warming up", name(), model.rowBytes() >> 10);
    for (ServerProcess worker : ways.workers) {
      try (ThinClient client = protocol.connect(worker, model)) {
        sample(worker, client, most, Duration.ofSeconds(run.quick() ? 2 : 8));
      }
    }
    for (Map.Entry<ServerProcess, ThinClient> way : clients.entrySet()) {
      sample(way.getKey(), way.getValue(), most, Duration.ofSeconds(run.quick() ? 2 : 10));
      sample(way.getKey(), way.getValue(), 1, Duration.ofSeconds(run.quick() ? 1 : 3));
    }
  }

  private static ServerSample sample(
      ServerProcess way, ThinClient client, int outstanding, Duration duration) throws IOException {
    try {
      return way.sample(client, outstanding, duration);
    } catch (IOException failure) {
      throw new IOException(
          "%s, %d outstanding; its last lines:\n%s"
              .formatted(way.name(), outstanding, way.process().lastLines()),
          failure);
    }
  }

  private void measure(
      BenchRun run,
      Ways ways,
      Map<ServerProcess, ThinClient> clients,
      RowModel model,
      int outstanding)
      throws IOException {
    String load = "%d KiB, %d outstanding".formatted(model.rowBytes() >> 10, outstanding);
    run.say("%s: %s", name(), load);
    Duration sample = Duration.ofMillis(run.quick() ? 300 : 1000);
    Map<String, Rounds> against = new TreeMap<>();
    Rounds flat = new Rounds();
    List<ServerProcess> order = new ArrayList<>(ways.all());
    for (int i = 0; i < (run.quick() ? 5 : 11); i++) {
      Map<ServerProcess, ServerSample> samples = new HashMap<>();
      for (ServerProcess way : order) {
        ThinClient client = clients.get(way);
        if (client != null) {
          samples.put(way, sample(way, client, outstanding, sample));
        }
      }
      Collections.rotate(order, 1);
      ServerSample ours = samples.get(ways.gateway);
      if (ours == null) {
        throw new IllegalStateException("the gateway was not asked");
      }
      samples.forEach(
          (way, theirs) -> {
            if (way == ways.gatewayOfMany) {
              flat.add(theirs, ours);
            } else if (way != ways.gateway) {
              against.computeIfAbsent(way.name(), unknown -> new Rounds()).add(ours, theirs);
            }
          });
    }
    boolean one = outstanding == 1;
    against.forEach(
        (name, rounds) -> {
          if (name.equals(ways.direct().name())) {
            p50(run, load + ", vs direct", rounds, one && model == LARGE ? NEAR_DIRECT : null);
            rate(run, load + ", vs direct", rounds, null);
          } else {
            p50(run, load + ", vs " + name, rounds, one ? NO_WORSE : null);
            rate(run, load + ", vs " + name, rounds, one ? null : FASTER);
            cpu(run, load + ", vs " + name, rounds);
          }
        });
    if (ways.gatewayOfMany != null) {
      p50(run, load + ", 8 workers vs 2", flat, null);
      rate(run, load + ", 8 workers vs 2", flat, null);
    }
  }

  private void p50(BenchRun run, String load, Rounds rounds, @Nullable Goal goal) {
    run.cells().accept(new Cell(name(), load + ": p50", rounds.p50().compare(), "us", goal));
  }

  private void rate(BenchRun run, String load, Rounds rounds, @Nullable Goal goal) {
    run.cells()
        .accept(new Cell(name(), load + ": rate", rounds.rate().compare(), "requests/s", goal));
  }

  private void cpu(BenchRun run, String load, Rounds rounds) {
    run.cells()
        .accept(
            new Cell(name(), load + ": its CPU", rounds.cpu().compare(), "CPU us/request", null));
  }
}
