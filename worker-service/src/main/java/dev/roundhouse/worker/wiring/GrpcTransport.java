package dev.roundhouse.worker.wiring;

import dev.roundhouse.engine.transport.Transport;
import io.grpc.Server;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.springframework.context.event.EventListener;
import org.springframework.grpc.server.lifecycle.GrpcServerStartedEvent;

/** gRPC, which Boot starts. */
final class GrpcTransport implements Transport {
  private volatile @Nullable Server server;

  @EventListener
  void onStarted(GrpcServerStartedEvent event) {
    server = event.getServer();
  }

  @Override
  public String name() {
    return "grpc";
  }

  @Override
  public void start() {
    // Boot has done it
  }

  @Override
  public List<Integer> ports() {
    Server listening = server;
    return listening == null ? List.of() : List.of(listening.getPort());
  }

  @Override
  public void drain() {
    Server listening = server;
    if (listening != null) {
      listening.shutdown();
    }
  }

  @Override
  public void stop(Duration budget) throws InterruptedException {
    Server listening = server;
    if (listening == null) {
      return;
    }
    try {
      drain();
      listening.awaitTermination(budget.toNanos(), TimeUnit.NANOSECONDS);
    } finally {
      listening.shutdownNow();
    }
  }
}
