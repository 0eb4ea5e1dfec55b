package dev.roundhouse.benchmarks.wire;

import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import java.util.List;

/** Everything that is measured of the wire, row by row of the table. */
public final class WireSuite implements Bench {
  /** In the order they run; each can be run by itself. */
  public static final List<Bench> ROWS =
      List.of(
          new Decode(),
          new GrpcTransports(),
          new TritonGrpc(),
          new TritonRest(),
          new SharedMemory(),
          new SpansCost(),
          new PerfAnalyzerTables());

  @Override
  public String name() {
    return "wire";
  }

  @Override
  public String about() {
    return "every wire-... below: requests and answers between the socket and the engine";
  }

  @Override
  public void run(BenchRun run) throws Exception {
    for (Bench row : ROWS) {
      row.run(run);
    }
  }
}
