package dev.roundhouse.benchmarks.engine;

import dev.roundhouse.measure.Fields;

/** What a process holds. */
record Footprint(long residentBytes, long threads) {

  static Footprint of(Fields line) {
    return new Footprint(line.get("rss_kb") * 1024, line.get("threads"));
  }
}
