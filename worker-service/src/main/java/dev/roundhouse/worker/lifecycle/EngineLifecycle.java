package dev.roundhouse.worker.lifecycle;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.worker.config.WorkerProperties;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationListener;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.event.ContextClosedEvent;

/**
 * Starts the models before the first port opens and closes the engine after the last has closed.
 *
 * <p>Stopping: readiness goes off when the context begins to close; then the gRPC server, whose
 * phase is the highest, sends GOAWAY and lets calls on their way end, still accepted by the engine,
 * so that none of them fails; only then is the engine drained of what is left and closed. When
 * {@code shutdown.drain} is over before that, the engine is closed first: what still waits is told
 * so while there is a connection to tell it on.
 */
public final class EngineLifecycle
    implements SmartLifecycle, DisposableBean, ApplicationListener<ContextClosedEvent> {
  private static final Logger log = LoggerFactory.getLogger(EngineLifecycle.class);

  private final Engine engine;
  private final Readiness readiness;
  private final WorkerProperties properties;
  private final ApplicationContext context;
  private final CompletableFuture<Void> loaded = new CompletableFuture<>();
  private final CountDownLatch closing = new CountDownLatch(1);
  private volatile long stopNanos;
  private volatile boolean running;
  private boolean closed;

  public EngineLifecycle(
      Engine engine, Readiness readiness, WorkerProperties properties, ApplicationContext context) {
    this.engine = engine;
    this.readiness = readiness;
    this.properties = properties;
    this.context = context;
  }

  /** Completes when every model is ready or has failed. */
  public CompletableFuture<Void> loaded() {
    return loaded;
  }

  @Override
  public void start() {
    running = true;
    List<Path> folders = ModelFolders.in(properties.repository().directories());
    if (folders.isEmpty()) {
      log.warn("no model folders in {}", properties.repository().directories());
    }
    List<CompletableFuture<Void>> loads = new ArrayList<>();
    for (Path folder : folders) {
      loads.add(engine.load(folder).thenAccept(this::onLoaded));
    }
    warnOfUnknownModels();
    readiness.modelsKnown();
    CompletableFuture.allOf(loads.toArray(CompletableFuture<?>[]::new))
        .whenComplete((done, failure) -> loaded.complete(null));
  }

  private void onLoaded(ModelStatus model) {
    context.publishEvent(new ModelLoaded(model));
    readiness.refresh();
  }

  private void warnOfUnknownModels() {
    for (String name : properties.models().keySet()) {
      if (engine.model(name).isEmpty()) {
        log.warn("roundhouse.worker.models.{} is set, but there is no model of that name", name);
      }
    }
  }

  @Override
  public void onApplicationEvent(ContextClosedEvent event) {
    if (event.getApplicationContext() == context) {
      stopNanos = System.nanoTime();
      readiness.stop();
      // Servers wait for the calls they have taken; no call should wait for a delay to pass.
      engine.stopHolding();
      Thread.ofPlatform().daemon().name("drain-budget").start(this::closeWhenBudgetIsSpent);
    }
  }

  private void closeWhenBudgetIsSpent() {
    try {
      if (!closing.await(remainingBudget().toNanos(), TimeUnit.NANOSECONDS)) {
        close();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // nobody does so; stop() closes all the same
    }
  }

  @Override
  public void stop() {
    running = false;
    close();
  }

  @Override
  public void destroy() {
    close();
  }

  @Override
  public boolean isRunning() {
    return running;
  }

  /** Below every server, so that it starts before them and stops after them. */
  @Override
  public int getPhase() {
    return 0;
  }

  private synchronized void close() {
    if (closed) {
      return;
    }
    closed = true;
    closing.countDown();
    readiness.stop();
    try {
      if (!engine.drain(remainingBudget())) {
        log.warn(
            "{} requests did not end within shutdown.drain and are given up",
            engine.openRequests());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      engine.close();
    }
  }

  private Duration remainingBudget() {
    long spent = stopNanos == 0 ? 0 : System.nanoTime() - stopNanos;
    Duration left = properties.shutdown().drain().minusNanos(spent);
    return left.isNegative() ? Duration.ZERO : left;
  }

  /** A model is ready or has failed. Published on a thread of the engine. */
  public record ModelLoaded(ModelStatus model) {}
}
