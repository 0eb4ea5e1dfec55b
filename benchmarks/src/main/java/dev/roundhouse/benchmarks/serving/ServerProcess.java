package dev.roundhouse.benchmarks.serving;

import dev.roundhouse.benchmarks.client.Load;
import dev.roundhouse.benchmarks.client.ThinClient;
import dev.roundhouse.measure.Child;
import java.io.IOException;
import java.time.Duration;

/**
 * A server that serves, and where it listens on this machine.
 *
 * @param operatorsPort 0 for one that is not ours
 */
public record ServerProcess(
    String name, Child process, int grpcPort, int httpPort, int operatorsPort)
    implements AutoCloseable {

  /** A server that is not ours. */
  public ServerProcess(String name, Child process, int grpcPort, int httpPort) {
    this(name, process, grpcPort, httpPort, 0);
  }

  /** Has {@code client} ask it, and sees how much processor time that took it and its helpers. */
  public ServerSample sample(ThinClient client, int outstanding, Duration duration)
      throws IOException {
    Duration before = process.cpuWithDescendants();
    Load load = client.run(outstanding, duration);
    return ServerSample.of(load, process.cpuWithDescendants().minus(before));
  }

  @Override
  public void close() {
    process.close();
  }
}
