package dev.roundhouse.benchmarks.stream;

import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.client.Load;
import dev.roundhouse.benchmarks.report.Cell;
import dev.roundhouse.benchmarks.report.Goal;
import dev.roundhouse.benchmarks.serving.ServerProcess;
import dev.roundhouse.measure.Pairs;
import java.io.IOException;
import java.net.SocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Several connections to one model, all of them steady, or one of them stuck in a message. */
final class EightClients {
  private static final int CLIENTS = 8;
  private static final int WINDOW = 32;

  private final String bench;
  private final BenchRun run;
  private final ServerProcess worker;
  private final FirstNumber model;
  private final SocketAddress address;

  EightClients(
      String bench, BenchRun run, ServerProcess worker, FirstNumber model, SocketAddress address) {
    this.bench = bench;
    this.run = run;
    this.worker = worker;
    this.model = model;
    this.address = address;
  }

  void run() throws IOException, InterruptedException {
    Duration sample = Duration.ofSeconds(run.quick() ? 1 : 3);
    int rounds = run.quick() ? 3 : 9;
    run.say("%s: %d clients", bench, CLIENTS);
    List<StreamClient> clients = new ArrayList<>();
    try (ExecutorService threads = Executors.newFixedThreadPool(CLIENTS)) {
      for (int i = 0; i < CLIENTS; i++) {
        clients.add(StreamClient.connect(address, model, WINDOW));
      }
      all(threads, clients, WINDOW, sample);
      Pairs inPlace = new Pairs();
      for (int round = 0; round < rounds; round++) {
        double before = counted("rows_in_place");
        double rows = counted("rows");
        all(threads, clients, WINDOW, sample);
        inPlace.add(counted("rows_in_place") - before, counted("rows") - rows);
      }
      String cell = "%d KiB, %d clients, ".formatted(model.rowBytes() >> 10, CLIENTS);
      put(cell + "window 32: rows in their place", inPlace, "rows", Goal.atLeast(0.95));
      List<StreamClient> seven = clients.subList(1, CLIENTS);
      all(threads, seven, 1, sample);
      Pairs p99 = new Pairs();
      for (int round = 0; round < rounds; round++) {
        double stuck;
        try (StuckSender sender = StuckSender.connect(address, model)) {
          stuck = all(threads, seven, 1, sample);
        }
        p99.add(stuck, all(threads, seven, 1, sample));
      }
      put(cell + "one stuck in a message: p99 of the others", p99, "us", Goal.atMost(1.2));
    } finally {
      for (StreamClient client : clients) {
        client.close();
      }
    }
  }

  /** Has all of them send, and returns the p99 of the slowest. */
  private static double all(
      ExecutorService threads, List<StreamClient> clients, int window, Duration duration)
      throws IOException, InterruptedException {
    List<Future<Load>> loads = new ArrayList<>();
    for (StreamClient client : clients) {
      loads.add(threads.submit(() -> client.run(window, duration)));
    }
    double worst = 0;
    for (Future<Load> load : loads) {
      try {
        worst = Math.max(worst, load.get().p99Micros());
      } catch (ExecutionException e) {
        throw new IOException(e.getCause());
      }
    }
    return worst;
  }

  private double counted(String what) throws IOException, InterruptedException {
    URI metrics =
        URI.create("http://127.0.0.1:%d/actuator/prometheus".formatted(worker.operatorsPort()));
    String series = "roundhouse_%s_total{model=\"%s\"}".formatted(what, model.name());
    try (HttpClient client = HttpClient.newHttpClient()) {
      HttpRequest request = HttpRequest.newBuilder(metrics).build();
      return client
          .send(request, HttpResponse.BodyHandlers.ofLines())
          .body()
          .filter(line -> line.startsWith(series))
          .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
          .findFirst()
          .orElseThrow(() -> new IOException("the worker does not count " + series));
    }
  }

  private void put(String cell, Pairs pairs, String unit, Goal goal) {
    run.cells().accept(new Cell(bench, cell, pairs.compare(), unit, goal));
  }
}
