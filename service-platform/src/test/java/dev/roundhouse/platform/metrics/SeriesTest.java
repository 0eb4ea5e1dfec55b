package dev.roundhouse.platform.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import org.junit.jupiter.api.Test;

/** What the enum says of a metric is what a scrape shows of it. */
class SeriesTest {
  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);

  @Test
  void shouldShowEveryMetricUnderItsNameWhicheverWayItIsShown() {
    Meters meters = new Meters(registry);
    Series.show(
        registry.getPrometheusRegistry(),
        series -> {
          for (Metric metric : Metric.values()) {
            if (metric.labels().size() == 1 && metric.kind() != Metric.Kind.HISTOGRAM) {
              series.add(metric, Series.labels(metric.labels().getFirst(), "x"), 7);
            }
          }
        });
    for (Metric metric : Metric.values()) {
      if (metric.labels().isEmpty() && metric.kind() != Metric.Kind.UNTYPED) {
        meters.read(metric, this, each -> 7);
      }
    }

    String page = registry.scrape();
    for (Metric metric : Metric.values()) {
      if (metric.labels().isEmpty() && metric.kind() != Metric.Kind.UNTYPED) {
        assertThat(page).contains("\n" + metric.seriesName() + " 7.0\n");
      } else if (metric.labels().size() == 1 && metric.kind() != Metric.Kind.HISTOGRAM) {
        assertThat(page)
            .contains(
                "\n%s{%s=\"x\"} 7.0\n".formatted(metric.seriesName(), metric.labels().getFirst()));
      }
    }
  }

  @Test
  void shouldCutClassicBucketsAtPowersOfTwo() {
    long[] counts = new long[40];
    counts[8] = 3; // up to 2^-14 s, with those below
    counts[9] = 5; // up to 2^-13 s
    counts[16] = 7; // the last of those
    counts[17] = 1;
    Series.show(
        registry.getPrometheusRegistry(),
        series ->
            series.add(
                Metric.REQUEST_TIME,
                Series.labels("model", "m"),
                new Buckets(-15 * Buckets.PER_DOUBLING, counts, 0.5)));

    assertThat(registry.scrape())
        .contains(
            "roundhouse_request_seconds_bucket{model=\"m\",le=\"6.103515625E-5\"} 3\n",
            "roundhouse_request_seconds_bucket{model=\"m\",le=\"1.220703125E-4\"} 15\n",
            "roundhouse_request_seconds_bucket{model=\"m\",le=\"2.44140625E-4\"} 16\n",
            "roundhouse_request_seconds_bucket{model=\"m\",le=\"+Inf\"} 16\n",
            "roundhouse_request_seconds_sum{model=\"m\"} 0.5\n");
  }

  @Test
  void shouldFindTheBucketOfNumbersOfRows() {
    assertThat(Buckets.of(1)).isZero();
    assertThat(Buckets.of(2)).isEqualTo(8);
    assertThat(Buckets.of(3)).isEqualTo(13);
    assertThat(Buckets.of(1024)).isEqualTo(80);
    for (int value = 2; value < 5_000; value++) {
      int bucket = Buckets.of(value);
      assertThat(Math.pow(2, bucket / 8.0)).isGreaterThanOrEqualTo(value * (1 - 1e-12));
      assertThat(Math.pow(2, (bucket - 1) / 8.0)).isLessThan(value);
    }
  }

  @Test
  void shouldRefuseOtherLabelsThanTheMetricHas() {
    Series.show(
        registry.getPrometheusRegistry(),
        series -> series.add(Metric.REQUESTS_SHED, Series.labels("model", "m"), 1));
    assertThatThrownBy(registry::scrape)
        .hasMessageContaining("REQUESTS_SHED has the labels [model, reason]");
    assertThatThrownBy(() -> new Meters(registry).read(Metric.MODELS, this, each -> 1))
        .hasMessageContaining("MODELS has the labels [state], and was given 0 values");
    assertThatThrownBy(() -> new Meters(registry).counter(Metric.MODELS_STALE))
        .hasMessageContaining("MODELS_STALE is a GAUGE, not a counter");
  }
}
