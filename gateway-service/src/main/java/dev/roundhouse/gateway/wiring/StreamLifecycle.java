package dev.roundhouse.gateway.wiring;

import dev.roundhouse.gateway.config.GatewayProperties;
import dev.roundhouse.gateway.stream.StreamGate;
import dev.roundhouse.platform.config.StartRefusedException;
import java.io.IOException;
import org.springframework.boot.web.server.context.WebServerApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.context.event.EventListener;

/**
 * Starts and stops tensor streams. New ones are refused as soon as the context begins to close;
 * those that are open have the time to drain since then, beside requests over HTTP.
 */
final class StreamLifecycle implements SmartLifecycle {
  private final StreamGate gate;
  private final GatewayProperties properties;
  private volatile long closedNanos = System.nanoTime();
  private volatile boolean running;

  StreamLifecycle(StreamGate gate, GatewayProperties properties) {
    this.gate = gate;
    this.properties = properties;
  }

  @Override
  public void start() {
    try {
      gate.start();
    } catch (IOException e) {
      Throwable cause = e.getCause() == null ? e : e.getCause();
      throw new StartRefusedException(
          "Tensor streams cannot be taken at roundhouse.gateway.stream.port=%d, socket=%s: %s."
              .formatted(
                  properties.stream().port(), properties.stream().socket(), cause.getMessage()),
          "Name a port or a path that is free, or end what has it.");
    }
    running = true;
  }

  @EventListener(ContextClosedEvent.class)
  void onClose() {
    closedNanos = System.nanoTime();
    gate.drain();
  }

  @Override
  public void stop(Runnable stopped) {
    Thread.ofVirtual()
        .name("tstream-stop")
        .start(
            () -> {
              try {
                stop();
              } finally {
                stopped.run();
              }
            });
  }

  @Override
  public void stop() {
    running = false;
    long spent = System.nanoTime() - closedNanos;
    try {
      gate.stop(Math.max(0, properties.shutdown().drain().toNanos() - spent));
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
    return WebServerApplicationContext.GRACEFUL_SHUTDOWN_PHASE;
  }
}
