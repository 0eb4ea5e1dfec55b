package dev.roundhouse.platform.operators;

/** The series that say how the processes answered that a page of metrics is made of. */
enum ScrapeMetric {
  UP("roundhouse_worker_scrape_up", "1 for a worker whose metrics are all in this answer"),
  SECONDS("roundhouse_worker_scrape_duration_seconds", "How long the worker took to answer");

  private final String name;
  private final String help;

  ScrapeMetric(String name, String help) {
    this.name = name;
    this.help = help;
  }

  String head() {
    return "# HELP " + name + ' ' + help + "\n# TYPE " + name + " gauge\n";
  }

  String sample(OperatorsPort port, double value) {
    return name + '{' + Sample.label(port.label(), port.name()) + "} " + value + '\n';
  }
}
