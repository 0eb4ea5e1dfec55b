package dev.roundhouse.worker.lifecycle;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.compile.Compilation;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.platform.lifecycle.FailStopExit;
import dev.roundhouse.worker.config.RepositoryProperties;
import dev.roundhouse.worker.config.WorkerProperties;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.IntConsumer;
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
 * <p>Stopping: readiness goes off when the context begins to close, for {@link LameDuck} before
 * anything else; then all transports drain at the same time and let current calls end, still
 * accepted by the engine, so that none of them fails; only when the last has stopped is the engine
 * drained and closed. When {@code shutdown.drain} is over before that, the engine is closed first,
 * so that waiting calls can still be told.
 */
public final class EngineLifecycle
    implements SmartLifecycle, DisposableBean, ApplicationListener<ContextClosedEvent> {
  private static final Logger log = LoggerFactory.getLogger(EngineLifecycle.class);

  /** Exit code when the process is told to end and something still uses the device. */
  public static final int CODE_IN_USE = 143;

  /** What loads get in any case: those that notice that they are to stop need a moment. */
  private static final Duration LAST_LOADS = Duration.ofSeconds(1);

  /** Time for answers in the device's memory once no client is left. */
  private static final Duration LAST_ANSWERS = Duration.ofSeconds(1);

  private final Engine engine;
  private final Readiness readiness;
  private final WorkerProperties properties;
  private final ApplicationContext context;
  private final Device device;
  private final Compilation compilation;
  private final IntConsumer exit;
  private final ModelRepository repository;
  private final RepositoryWatch watch;
  private final CompletableFuture<Void> loaded = new CompletableFuture<>();
  private final CountDownLatch closing = new CountDownLatch(1);
  private volatile long stopNanos;
  private volatile boolean running;
  private boolean closed;
  private boolean deviceInUse;

  /**
   * @param device owned by this: closed when no longer used
   * @param compilation owned by this: closed first, which ends loads that wait for a compiler
   *     process
   * @param exit ends the process with a code, without waiting for anything
   * @param journal decides which models are loaded last
   */
  public EngineLifecycle(
      Engine engine,
      Device device,
      Compilation compilation,
      Readiness readiness,
      WorkerProperties properties,
      ApplicationContext context,
      IntConsumer exit,
      ModelJournal journal) {
    this.engine = engine;
    this.device = device;
    this.compilation = compilation;
    this.readiness = readiness;
    this.properties = properties;
    this.context = context;
    this.exit = exit;
    RepositoryProperties settings = properties.repository();
    repository =
        new ModelRepository(engine, properties, changed -> readiness.refresh(), journal::isSuspect);
    watch =
        new RepositoryWatch(
            repository, () -> RepositoryScan.of(settings.directories()), settings.loadAttempts());
  }

  /** The models on disk. */
  public ModelRepository repository() {
    return repository;
  }

  /** Completes when every model is ready or has failed. */
  public CompletableFuture<Void> loaded() {
    return loaded;
  }

  @Override
  public void start() {
    running = true;
    RepositoryProperties settings = properties.repository();
    checkDirectories(settings.directories());
    RepositoryScan found = RepositoryScan.of(settings.directories());
    checkReadable(found);
    if (found.models().isEmpty()) {
      log.warn("no model folders in {}", settings.directories());
    }
    watch.begin(found);
    List<CompletableFuture<Void>> loads = new ArrayList<>();
    repository
        .loadAtStart(found)
        .forEach((name, load) -> loads.add(load.thenAccept(end -> onLoaded(found, name, end))));
    warnOfUnknownModels(found);
    readiness.modelsKnown();
    CompletableFuture.allOf(loads.toArray(CompletableFuture<?>[]::new))
        .whenComplete((done, failure) -> loaded.complete(null));
    if (settings.mode() == RepositoryProperties.Mode.DYNAMIC) {
      watch.start(settings.pollInterval());
    }
  }

  private static void checkDirectories(List<Path> directories) {
    for (int i = 0; i < directories.size(); i++) {
      if (!Files.isDirectory(directories.get(i))) {
        throw new StartRefusedException(
            "roundhouse.worker.repository.directories[%d] is '%s', and %s is not a directory."
                .formatted(i, directories.get(i), directories.get(i).toAbsolutePath().normalize()),
            "Create it, or point roundhouse.worker.repository.directories to the folder that holds"
                + " your models.");
      }
    }
  }

  /**
   * Later it may be a moment's trouble, and what was loaded serves on; at the start nothing was.
   */
  static void checkReadable(RepositoryScan found) {
    found
        .unreadable()
        .forEach(
            (directory, why) -> {
              throw new StartRefusedException(
                  "The model repository " + why + ".",
                  "Let the worker's user read and enter it, or point"
                      + " roundhouse.worker.repository.directories to another folder.");
            });
  }

  private void onLoaded(RepositoryScan found, String name, ModelStatus end) {
    RepositoryScan.Found files = found.models().get(name);
    if (files != null) {
      watch.loaded(name, files.fingerprint(), end);
    }
  }

  private void warnOfUnknownModels(RepositoryScan found) {
    for (String name : properties.models().keySet()) {
      if (engine.model(name).isEmpty() && !found.models().containsKey(name)) {
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
      engine.admin().stopHolding();
      Thread.ofPlatform().daemon().name("drain-budget").start(this::closeWhenBudgetIsSpent);
    }
  }

  private void closeWhenBudgetIsSpent() {
    try {
      if (!closing.await(remainingBudget().toNanos(), TimeUnit.NANOSECONDS)) {
        close();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // not expected; stop() closes all the same
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
    if (deviceInUse || !answersAreBack()) {
      log.error(
          "something still uses the device, a compile that did not end within shutdown.drain, a"
              + " run that hangs or an answer that is being sent: the process ends without closing"
              + " it");
      if (stopNanos != 0) {
        // The plugin's own clean-up at the exit would meet its thread that still runs. A start that
        // was refused ends the usual way: the reason has not been printed yet.
        exit.accept(engine.isAlive() ? CODE_IN_USE : FailStopExit.CODE);
      }
    } else {
      device.close();
    }
  }

  /** Connections that have been closed give back what they were sending, within a moment. */
  private boolean answersAreBack() {
    try {
      return engine.awaitAnswers(LAST_ANSWERS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
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
    watch.close();
    readiness.stop();
    compilation.close();
    try {
      if (!engine.drain(remainingBudget())) {
        log.warn(
            "{} requests did not end within shutdown.drain and are given up",
            engine.openRequests());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      Duration left = remainingBudget();
      deviceInUse = !engine.close(left.compareTo(LAST_LOADS) < 0 ? LAST_LOADS : left);
    }
  }

  private Duration remainingBudget() {
    long spent = stopNanos == 0 ? 0 : System.nanoTime() - stopNanos;
    Duration left = properties.shutdown().drain().minusNanos(spent);
    return left.isNegative() ? Duration.ZERO : left;
  }
}
