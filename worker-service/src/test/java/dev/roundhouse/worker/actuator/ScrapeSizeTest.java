package dev.roundhouse.worker.actuator;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.device.ReferenceFunction;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.TestImage;
import dev.roundhouse.platform.access.AccessProperties;
import dev.roundhouse.platform.access.JwtProperties;
import dev.roundhouse.platform.metrics.Series;
import dev.roundhouse.worker.config.MetricsProperties;
import dev.roundhouse.worker.config.MetricsProperties.PerModel;
import dev.roundhouse.worker.trace.LatestTraces;
import dev.roundhouse.worker.transport.Tenants;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/**
 * What a scrape of many models has, and what it takes: {@code -Dscrape.models=20000} prints the
 * figures that {@code docs/actuator.md} has.
 */
class ScrapeSizeTest {
  private static final int MODELS = Integer.getInteger("scrape.models", 300);
  private static final int USED = MODELS / 4;
  private static final int AT_A_TIME = 100;

  @Test
  void shouldHaveSeriesOfTheModelsThatAreAskedFor() throws IOException {
    try (LiveEngine engine =
        new LiveEngine(EngineOptions.builder().build(), ReferenceFunction.ZERO)) {
      load(engine);
      for (int i = 0; i < USED; i++) {
        LiveEngine.assertCompleted(engine.submit("model-" + i, 1, 2));
      }
      assertThat(accepted(engine, PerModel.ALL, true)).hasSize(MODELS);
      assertThat(accepted(engine, PerModel.ALL, false)).hasSize(MODELS);
      assertThat(accepted(engine, PerModel.USED, true)).hasSize(USED);
      assertThat(accepted(engine, PerModel.NONE, true))
          .containsExactly("roundhouse_requests_accepted_total{model=\"\"} " + (double) USED);
    }
  }

  private static void load(LiveEngine engine) {
    for (int first = 0; first < MODELS; first += AT_A_TIME) {
      List<CompletableFuture<ModelStatus>> loads = new ArrayList<>();
      for (int i = first; i < Math.min(MODELS, first + AT_A_TIME); i++) {
        loads.add(engine.engine().admin().load(TestImage.weighted("model-" + i, "1", () -> {})));
      }
      loads.forEach(load -> assertThat(LiveEngine.get(load).isReady()).isTrue());
    }
  }

  private static final Tenants NOBODY =
      Tenants.of(
          Map.of(),
          new AccessProperties(
              null,
              null,
              null,
              null,
              null,
              null,
              null,
              null,
              null,
              JwtProperties.NONE,
              Map.of(),
              List.of()),
          "roundhouse.worker");

  private static List<String> accepted(LiveEngine engine, PerModel perModel, boolean others)
      throws IOException {
    PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    MetricsProperties properties = new MetricsProperties(perModel, others, others);
    Series.show(
        registry.getPrometheusRegistry(),
        new EngineSeries(engine.engine(), properties, new LatestTraces(), NOBODY));
    ByteArrayOutputStream page = new ByteArrayOutputStream();
    long shortest = Long.MAX_VALUE;
    for (int i = 0; i < 5; i++) {
      page.reset();
      long start = System.nanoTime();
      registry.scrape(page);
      shortest = Math.min(shortest, System.nanoTime() - start);
    }
    System.out.printf(
        "scrape of %d models, %d of them used, per-model=%s, names of others %s: %.0f ms, %.1f MB%n",
        MODELS, USED, perModel, others, shortest / 1e6, page.size() / 1e6);
    String accepted = "roundhouse_requests_accepted_total{";
    return page.toString(StandardCharsets.UTF_8)
        .lines()
        .filter(line -> line.startsWith(accepted))
        .toList();
  }
}
