package dev.roundhouse.worker.wiring;

import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.worker.config.WorkerProperties;
import dev.roundhouse.worker.transport.tstream.StreamServer;
import java.io.IOException;
import java.time.Duration;
import org.springframework.boot.web.server.context.WebServerApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.context.event.EventListener;

/**
 * Starts the server of streams after the models, and stops it before the engine. Clients are told
 * to go elsewhere as soon as the context begins to close.
 */
final class StreamLifecycle implements SmartLifecycle {
  private final StreamServer server;
  private final WorkerProperties properties;
  private volatile long stopNanos;
  private volatile boolean running;

  StreamLifecycle(StreamServer server, WorkerProperties properties) {
    this.server = server;
    this.properties = properties;
  }

  @Override
  public void start() {
    try {
      server.start();
    } catch (IOException e) {
      Throwable cause = e.getCause() == null ? e : e.getCause();
      throw new StartRefusedException(
          "Tensor streams cannot be served at roundhouse.worker.stream.port=%d, socket=%s: %s."
              .formatted(
                  properties.stream().port(), properties.stream().socket(), cause.getMessage()),
          "Name a port or a path that is free, or end what has it.");
    }
    running = true;
  }

  @EventListener(ContextClosedEvent.class)
  void onClose() {
    stopNanos = System.nanoTime();
    server.drain();
  }

  @Override
  public void stop() {
    running = false;
    Duration drain = properties.shutdown().drain().plus(TransportConfiguration.LAST_ANSWERS);
    long spent = stopNanos == 0 ? 0 : System.nanoTime() - stopNanos;
    try {
      server.stop(Math.max(0, drain.toNanos() - spent));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public boolean isRunning() {
    return running;
  }

  @Override
  public int getPhase() {
    return WebServerApplicationContext.GRACEFUL_SHUTDOWN_PHASE + 1;
  }
}
