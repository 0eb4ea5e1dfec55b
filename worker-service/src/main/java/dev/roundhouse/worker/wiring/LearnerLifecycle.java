package dev.roundhouse.worker.wiring;

import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.worker.config.TeeProperties;
import dev.roundhouse.worker.tee.learner.LearnerServer;
import java.io.IOException;
import org.springframework.boot.web.server.context.WebServerApplicationContext;
import org.springframework.context.SmartLifecycle;

/** Starts the port of learners with the others, and stops it when requests have been answered. */
final class LearnerLifecycle implements SmartLifecycle {
  private final LearnerServer server;
  private final TeeProperties settings;
  private volatile boolean running;

  LearnerLifecycle(LearnerServer server, TeeProperties settings) {
    this.server = server;
    this.settings = settings;
  }

  @Override
  public void start() {
    try {
      server.start();
    } catch (IOException e) {
      Throwable cause = e.getCause() == null ? e : e.getCause();
      throw new StartRefusedException(
          "Learners cannot be served at roundhouse.worker.tee.port=%d, socket=%s: %s."
              .formatted(settings.port(), settings.socket(), cause.getMessage()),
          "Name a port or a path that is free, or end what has it.");
    }
    running = true;
  }

  @Override
  public void stop() {
    running = false;
    server.stop();
  }

  @Override
  public boolean isRunning() {
    return running;
  }

  /** Before the servers of requests start, so after they have stopped. */
  @Override
  public int getPhase() {
    return WebServerApplicationContext.GRACEFUL_SHUTDOWN_PHASE - 1;
  }
}
