package dev.roundhouse.benchmarks.serving;

import dev.roundhouse.benchmarks.bench.BenchRun;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Starts gateways. */
public final class GatewayServer {
  private GatewayServer() {}

  /**
   * A gateway before {@code workers}, of which one at least takes requests.
   *
   * @param settings as on the command line
   */
  public static ServerProcess start(
      String name, BenchRun run, Path scratch, List<ServerProcess> workers, String... settings)
      throws IOException {
    List<String> all = new ArrayList<>();
    for (ServerProcess worker : workers) {
      String key = "--roundhouse.gateway.workers." + worker.name();
      all.add(key + ".address=127.0.0.1:" + worker.grpcPort());
      all.add(key + ".http=127.0.0.1:" + worker.httpPort());
    }
    all.addAll(List.of(settings));
    return JvmServer.service(name, run.root().gatewayJar(), scratch, "workers=", all);
  }
}
