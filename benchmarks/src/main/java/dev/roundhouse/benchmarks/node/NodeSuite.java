package dev.roundhouse.benchmarks.node;

import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import java.util.List;

/** Everything that is measured of a node, row by row of the table. */
public final class NodeSuite implements Bench {
  /** In the order they run; each can be run by itself. */
  public static final List<Bench> ROWS =
      List.of(NodeProxies.grpc(), NodeProxies.rest(), new NodePlacement());

  @Override
  public String name() {
    return "node";
  }

  @Override
  public String about() {
    return "every node-... below: the gateway beside proxies, and what placing models costs";
  }

  @Override
  public void run(BenchRun run) throws Exception {
    for (Bench row : ROWS) {
      row.run(run);
    }
  }
}
