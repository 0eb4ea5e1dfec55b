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
      is added to the way of a request for it. Libraries add series of their own: `jvm_*`, `process_*`, `system_*`, `tomcat_*`,
      `http_server_requests_seconds_*`, `executor_*`, `logback_events_total` and others.

      Labels are never taken from what clients send: a request for a name that no model has is refused without being counted. *Asked*
      is what only a worker's dispatch thread knows: it tells it between two turns, and in a scrape to which it did not answer within
      0.2 s there are no such series.

      `nv_*` are Triton's names, `worker_*` ReactantServer's, without its labels `worker` and `gpu`; of those that are not here,
      `roundhouse_*` has the figures (`worker_queue_wait_seconds` is a quantile of `roundhouse_request_wait_seconds`). The names of
      Triton's counters do not end in `_total`, so their type is `untyped`.
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
    return page.toString();
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
