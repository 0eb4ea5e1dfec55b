package dev.roundhouse.benchmarks.wire;

import dev.roundhouse.benchmarks.client.ThinClient;
import dev.roundhouse.benchmarks.serving.ServerProcess;
import dev.roundhouse.benchmarks.serving.ServerSample;
import java.io.Closeable;
import java.io.IOException;
import java.time.Duration;

/**
 * A server and a client that asks it in one way.
 *
 * @param setup how the server was set up, for people
 */
record Contender(String setup, ServerProcess server, ThinClient client) implements Closeable {

  ServerSample sample(int outstanding, Duration duration) throws IOException {
    return server.sample(client, outstanding, duration);
  }

  @Override
  public void close() throws IOException {
    client.close();
  }
}
