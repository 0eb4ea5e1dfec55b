package dev.roundhouse.platform.operators;

import dev.roundhouse.platform.metrics.Metric;
import dev.roundhouse.platform.operators.MetricsPage.Family;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * Metrics of several processes on one page: each family once, with the text and type that the first
 * process has for it.
 */
final class MergedPage {
  private final List<MetricsPage> pages = new ArrayList<>();
  private final List<Answer<MetricsPage>> answers;

  /**
   * @param own metrics of the process itself
   * @param answers of the others
   */
  MergedPage(MetricsPage own, List<Answer<MetricsPage>> answers) {
    this.answers = answers;
    pages.add(own);
    for (Answer<MetricsPage> answer : answers) {
      if (answer.value() != null) {
        pages.add(answer.value());
      }
    }
  }

  /** Writes line by line; holds no more than a piece of it as it is written. */
  void write(OutputStream out, boolean openMetrics) throws IOException {
    Set<String> names = new TreeSet<>();
    pages.forEach(page -> names.addAll(page.families()));
    for (String name : names) {
      boolean first = true;
      for (MetricsPage page : pages) {
        Family family = page.family(name);
        if (family != null) {
          if (first) {
            family.writeHead(out);
          }
          page.writeSamples(family, out);
          first = false;
        }
      }
    }
    StringBuilder last = new StringBuilder();
    last.append(head(Metric.WORKER_SCRAPE_UP));
    for (Answer<?> answer : answers) {
      last.append(sample(Metric.WORKER_SCRAPE_UP, answer.port(), answer.value() == null ? 0 : 1));
    }
    last.append(head(Metric.WORKER_SCRAPE_DURATION));
    for (Answer<?> answer : answers) {
      last.append(sample(Metric.WORKER_SCRAPE_DURATION, answer.port(), answer.seconds()));
    }
    if (openMetrics) {
      last.append("# EOF\n");
    }
    out.write(last.toString().getBytes(StandardCharsets.ISO_8859_1));
  }

  /** Of a gauge. */
  private static String head(Metric metric) {
    String name = metric.seriesName();
    return "# HELP " + name + ' ' + metric.help() + "\n# TYPE " + name + " gauge\n";
  }

  private static String sample(Metric metric, OperatorsPort port, double value) {
    return metric.seriesName()
        + '{'
        + Sample.label(port.label(), port.name())
        + "} "
        + value
        + '\n';
  }
}
