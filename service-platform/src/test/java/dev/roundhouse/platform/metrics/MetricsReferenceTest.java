package dev.roundhouse.platform.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.platform.metrics.Metric.Role;
import dev.roundhouse.platform.metrics.Metric.Unit;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The page of all metrics is what the enum says. */
class MetricsReferenceTest {
  private static final Path PAGE = Path.of("../docs/metrics.md");

  private static final String HEAD =
      """
      # Metrics

      Generated from `Metric` in `service-platform`; a test fails when this page is stale, and `-Dupdate.docs=true` rewrites it.

      `GET /metrics` or `/actuator/prometheus` on the port for operators (8002; of a node 8003). A scrape reads counters, and nothing
      is added to the way of a request for it. Libraries add series of their own: `application_*`, `disk_*`, `executor_*`,
      `http_server_requests_*`, `jvm_*`, `logback_*`, `process_*`, `system_*`, `tomcat_*`, and `gateway_worker_latency_seconds_max`, the
      longest of the last minutes.

      Labels are never taken from what clients send: a request for a name that no model has is refused without being counted. *Asked*
      is what only a worker's dispatch thread knows: it tells it between two turns, and in a scrape to which it did not answer within
      0.2 s there are no such series.

      `nv_*` are Triton's names, `worker_*` ReactantServer's, without its labels `worker` and `gpu`; their meaning names the series of
      ours that equals them. Triton's have a version's counts, which begin anew when it is loaded anew, ours all of a model's. The names
      of Triton's counters do not end in `_total`, so their type is `untyped`. Those that are not here: [below](#other-servers-names).
      """;

  private static final String TAIL =
      """

      ## Other servers' names

      Which of ours have the figures of ReactantServer's metrics that are not here; Triton's are in
      [migrating-from-triton.md](migrating-from-triton.md#metrics).

      | ReactantServer's | here |
      |---|---|
      | `worker_queue_wait_seconds` | `histogram_quantile` of `roundhouse_request_wait_seconds` |
      | `worker_model_pinned` | `roundhouse_model_pinned` |
      | `worker_model_weight_bytes` | `roundhouse_model_device_bytes` |
      | `worker_weight_cache_max_bytes`, `_pinned_bytes`, `_max_scratch_bytes` | `roundhouse_weights_budget_bytes`, `_pinned_bytes`, `_scratch_bytes` |
      | `worker_device_memory_in_use_bytes`, `_limit_bytes`, `_peak_in_use_bytes` | `roundhouse_device_memory_in_use_bytes`, `_limit_bytes`, `_peak_bytes` |
      | `worker_info` | `/actuator/info` ([actuator.md](actuator.md)) |
      | `gateway_request_latency_seconds` | `gateway_worker_latency_seconds`, by worker |
      | `gateway_inflight_requests` | `gateway_grpc_calls_open` |
      | `gateway_worker_inflight_work` | `gateway_worker_outstanding_seconds` |
      | `gateway_worker_metrics_up` | `roundhouse_worker_scrape_up` |
      | `gateway_requests_shed_total` | `gateway_requests_total` of `RESOURCE_EXHAUSTED` |
      | `gateway_routing_table_size`, `gateway_placement_weight`, `gateway_replica_routed_total`, `gateway_model_fill_quantum` | `/actuator/placement` of the gateway ([gateway.md](gateway.md#operators)) |
      """;

  @Test
  void shouldBeCurrent() throws Exception {
    String page = page();
    if (Boolean.getBoolean("update.docs")) {
      Files.writeString(PAGE, page);
    }

    assertThat(PAGE).as("run the tests with -Dupdate.docs=true to rewrite it").hasContent(page);
  }

  @Test
  void shouldHaveNamesAsPrometheusWantsThem() {
    Set<String> names = new HashSet<>();
    for (Metric metric : Metric.values()) {
      String name = metric.seriesName();
      assertThat(names.add(name)).as("%s is the name of two metrics", name).isTrue();
      assertThat(name).matches("[a-z][a-z_0-9]*[a-z0-9]");
      assertThat(name.endsWith("_total")).as(name).isEqualTo(metric.kind() == Metric.Kind.COUNTER);
      assertThat(metric.help()).as(name).isNotBlank().doesNotContain("|").doesNotEndWith(".");
      assertThat(metric.countedBy()).as(name).isNotBlank();
    }
  }

  private static String page() {
    StringBuilder page = new StringBuilder(HEAD);
    for (Role role : Role.values()) {
      page.append("\n## Of a ")
          .append(role.name().toLowerCase(Locale.ROOT))
          .append(
              "\n\n| metric | type | unit | labels | meaning | counted by |\n|---|---|---|---|---|---|\n");
      for (Metric metric : Metric.values()) {
        if (metric.roles().contains(role)) {
          page.append(row(metric));
        }
      }
    }
    return page.append(TAIL).toString();
  }

  private static String row(Metric metric) {
    String labels =
        metric.labels().stream().map(each -> "`" + each + "`").collect(Collectors.joining(", "));
    String unit = metric.unit() == Unit.NONE ? "" : metric.unit().name().toLowerCase(Locale.ROOT);
    return "| `%s` | %s | %s | %s | %s | %s |\n"
        .formatted(
            metric.seriesName(),
            metric.kind().name().toLowerCase(Locale.ROOT),
            unit,
            labels,
            metric.help(),
            metric.countedBy());
  }
}
