package dev.roundhouse.worker.wiring;

import dev.roundhouse.engine.transport.Transport;
import io.grpc.Server;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A gRPC server that is ours to start. */
final class ServerTransport implements Transport {
  private final String name;
  private final String portKey;
  private final Server server;
  private volatile boolean started;

  /**
   * @param portKey of the setting, for people
   */
  ServerTransport(String name, String portKey, Server server) {
    this.name = name;
    this.portKey = portKey;
    this.server = server;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public void start() throws IOException {
    try {
      server.start();
    } catch (IOException e) {
      throw new IOException(portKey + ": " + e.getMessage(), e);
    }
    started = true;
  }

  @Override
  public List<Integer> ports() {
    return started ? List.of(server.getPort()) : List.of();
  }

  @Override
  public void drain() {
    if (started) {
      server.shutdown();
    }
  }

  @Override
  public void stop(Duration budget) throws InterruptedException {
    if (!started) {
      return;
    }
    try {
      drain();
      server.awaitTermination(budget.toNanos(), TimeUnit.NANOSECONDS);
    } finally {
      server.shutdownNow();
    }
  }
}
