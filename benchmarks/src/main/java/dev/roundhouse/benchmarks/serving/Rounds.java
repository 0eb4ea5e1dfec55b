package dev.roundhouse.benchmarks.serving;

import dev.roundhouse.measure.Pairs;

/** The samples of two servers, round by round. */
public record Rounds(Pairs p50, Pairs rate, Pairs cpu) {

  public Rounds() {
    this(new Pairs(), new Pairs(), new Pairs());
  }

  public void add(ServerSample ours, ServerSample peer) {
    p50.add(ours.p50Micros(), peer.p50Micros());
    rate.add(ours.requestsPerSecond(), peer.requestsPerSecond());
    // A thread that ended during a sample can leave it without any time; such a pair says nothing.
    if (ours.cpuMicrosPerRequest() > 0 && peer.cpuMicrosPerRequest() > 0) {
      cpu.add(ours.cpuMicrosPerRequest(), peer.cpuMicrosPerRequest());
    }
  }
}
