package dev.roundhouse.gateway.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.gateway.fleet.WorkerAddress;
import dev.roundhouse.gateway.fleet.WorkerLink;
import dev.roundhouse.gateway.fleet.WorkerLook;
import dev.roundhouse.gateway.fleet.WorkerTls;
import dev.roundhouse.gateway.route.Ejection;
import dev.roundhouse.gateway.route.FillMode;
import dev.roundhouse.gateway.route.Hedging;
import dev.roundhouse.gateway.route.Mode;
import dev.roundhouse.gateway.route.ModelRoutes;
import dev.roundhouse.gateway.route.OpeningPolicy;
import dev.roundhouse.gateway.route.RequestHead;
import dev.roundhouse.gateway.route.RouteListener;
import dev.roundhouse.gateway.route.WorkBasis;
import dev.roundhouse.gateway.schedule.CompactionMode;
import dev.roundhouse.gateway.schedule.Placer;
import dev.roundhouse.gateway.schedule.Policy;
import dev.roundhouse.platform.grpc.PortLoad;
import dev.roundhouse.platform.telemetry.SpanExport;
import dev.roundhouse.transport.forward.ForwardingBudget;
import io.grpc.Status;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a scrape has of workers and models, whatever changes meanwhile. */
@Timeout(120)
class GatewayMetersTest {
  private static final InetSocketAddress NOWHERE =
      InetSocketAddress.createUnresolved("localhost", 1);
  private static final Policy POLICY =
      new Policy(
          300,
          60,
          0,
          0,
          1,
          OpeningPolicy.FILL_LEAST,
          1,
          FillMode.RUN,
          CompactionMode.OFF,
          1,
          false,
          WorkBasis.COMPUTE);

  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final Ejection ejection = new Ejection(0, 1, System::nanoTime, InstantSource.system());
  private final GatewayMeters meters =
      new GatewayMeters(
          registry, new PortLoad(), new ForwardingBudget(1 << 20, "wait"), ejection, Hedging.OFF);
  private final ModelRoutes routes =
      new ModelRoutes(
          Placer.settings(Mode.LPT_PACKING, POLICY, Map.of()),
          () -> {},
          ejection,
          Hedging.OFF,
          RouteListener.NONE,
          SpanExport.OFF,
          false,
          null);
  private final Placer placer =
      new Placer(
          routes,
          Mode.LPT_PACKING,
          POLICY,
          Map.of(),
          (worker, reload) -> {},
          System::nanoTime,
          System::currentTimeMillis);
  private final List<WorkerLink> links =
      IntStream.range(0, 8)
          .mapToObj(
              i ->
                  new WorkerLink(
                      new WorkerAddress("w" + i, NOWHERE, NOWHERE, NOWHERE),
                      WorkerTls.NONE,
                      Duration.ofSeconds(8)))
          .toList();

  @AfterEach
  void close() {
    links.forEach(WorkerLink::close);
    registry.close();
  }

  @Test
  void shouldHaveEveryRowOnceInEveryScrapeWhileOthersChange() throws Exception {
    List<String> lasting = List.of("w0", "w1", "w2", "w3");
    seen(lasting, List.of("a", "b"));
    for (String model : List.of("a", "b")) { // a replica is shown once it was asked
      routes.route(new RequestHead(model, "", "", 1)).ended(Status.OK);
    }
    seen(lasting, List.of("a", "b"));
    List<String> expected = rows(registry.scrape());
    assertThat(expected)
        .contains(
            "gateway_worker_ready{worker=\"w0\"}",
            "gateway_worker_outstanding_seconds{worker=\"w3\"}",
            "gateway_model_replicas{model=\"a\"}",
            "gateway_model_utilization{model=\"b\"}")
        .anyMatch(row -> row.startsWith("gateway_replica_outstanding{model=\"a\""));

    AtomicBoolean over = new AtomicBoolean();
    try (ExecutorService scraper = Executors.newSingleThreadExecutor()) {
      Future<Integer> scrapes =
          scraper.submit(
              () -> {
                int count = 0;
                while (!over.get()) {
                  List<String> all = rows(registry.scrape());
                  assertThat(all).containsAll(expected).doesNotHaveDuplicates();
                  count++;
                }
                return count;
              });
      try {
        for (int i = 0; i < 1_000 && !scrapes.isDone(); i++) {
          List<String> workers = new ArrayList<>(lasting);
          workers.add("w" + (4 + i % 4));
          seen(workers, i % 2 == 0 ? List.of("a", "b", "even") : List.of("a", "b", "odd"));
        }
      } finally {
        over.set(true);
      }
      assertThat(scrapes.get(60, TimeUnit.SECONDS)).isPositive();
    }
    seen(lasting, List.of("a", "b"));
    assertThat(rows(registry.scrape())).containsExactlyInAnyOrderElementsOf(expected);
  }

  @Test
  void shouldShowAValueAsItIsNow() throws Exception {
    seen(List.of("w0"), List.of("a"));
    Gauge work = registry.get("gateway.worker.outstanding").gauge();
    assertThat(work.value()).isZero();
    routes.route(new RequestHead("a", "", "", 1));
    assertThat(work.value()).isPositive().isEqualTo(routes.ledger("w0").nanos() / 1e9);
    assertThat(registry.scrape()).contains("gateway_worker_ready{worker=\"w0\"} 1.0\n");
    meters.seen(List.of(look(0, List.of("a")).notReady("it stops")), placer, routes);
    assertThat(registry.scrape()).contains("gateway_worker_ready{worker=\"w0\"} 0.0\n");
  }

  @Test
  void shouldEndTheSeriesOfModelsAndWorkersThatAreGone() throws Exception {
    seen(List.of("w0", "w1"), List.of("a", "b"));
    for (String model : List.of("a", "b", "guessed")) {
      meters.ended(model, "w0", Status.OK, 5, false);
      meters.ended(model, "w1", Status.UNAVAILABLE, 5, false);
    }
    seen(List.of("w1"), List.of("b"));

    List<String> rows = rows(registry.scrape());
    assertThat(rows)
        .contains(
            "gateway_requests_total{model=\"b\",status=\"OK\"}",
            "gateway_requests_total{model=\"other\",status=\"UNAVAILABLE\"}",
            "gateway_worker_latency_seconds_count{worker=\"w1\"}")
        .noneMatch(row -> row.contains("model=\"a\"") || row.contains("worker=\"w0\""));

    meters.ended("a", "w0", Status.OK, 5, false); // one that was still on its way
    assertThat(rows(registry.scrape())).containsExactlyInAnyOrderElementsOf(rows);
  }

  private void seen(List<String> workers, List<String> models) {
    List<WorkerLook> looks =
        workers.stream().map(name -> look(Integer.parseInt(name.substring(1)), models)).toList();
    placer.seen(looks);
    meters.seen(looks, placer, routes);
  }

  private WorkerLook look(int worker, List<String> models) {
    Map<String, Boolean> index = new LinkedHashMap<>();
    models.forEach(model -> index.put(model, true));
    return new WorkerLook(links.get(worker), NOWHERE, true, index, Optional.empty(), "", false);
  }

  /** Names and labels of the rows that come and go. */
  private static List<String> rows(String scrape) {
    return scrape
        .lines()
        .filter(line -> line.startsWith("gateway_") && line.contains("{"))
        .map(line -> line.substring(0, line.lastIndexOf(' ')))
        .collect(Collectors.toList());
  }
}
