package dev.roundhouse.gateway.fleet;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Checks all workers periodically, on its own thread. A worker that does not answer in time does
 * not delay the checks of others.
 */
public final class FleetWatch implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(FleetWatch.class);

  /** Minimum time between two checks, even when one is requested. */
  private static final long LEAST_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final WorkerSource source;
  private final Function<WorkerAddress, WorkerLink> links;
  private final Duration interval;
  private final Duration timeout;
  private final UnaryOperator<CompletableFuture<WorkerLook>> after;
  private final Consumer<List<WorkerLook>> listener;
  private final Map<String, Watched> workers = new HashMap<>();
  private final Thread thread = new Thread(this::run, "fleet-watch");
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition wanted = lock.newCondition();
  private boolean refresh;
  private boolean woken;
  private boolean closed;

  private static final class Watched {
    final WorkerLink link;
    CompletableFuture<WorkerLook> pending;
    WorkerLook last;

    /** The look was not over when the last round was; its result is still to be read. */
    boolean late;

    String told = "";

    Watched(WorkerLink link) {
      this.link = link;
      last = WorkerLook.none(link);
      pending = CompletableFuture.completedFuture(last);
    }

    /** False while there is a result to wait for, or to read. */
    boolean isToAsk() {
      return pending.isDone() && (!late || pending.isCompletedExceptionally());
    }
  }

  /**
   * @param links makes the link to a worker
   * @param timeout after which a worker that has not answered is not ready
   * @param after further steps for a worker before its state is published
   * @param listener told of every round, on the watch's thread
   */
  public FleetWatch(
      WorkerSource source,
      Function<WorkerAddress, WorkerLink> links,
      Duration interval,
      Duration timeout,
      UnaryOperator<CompletableFuture<WorkerLook>> after,
      Consumer<List<WorkerLook>> listener) {
    this.source = source;
    this.links = links;
    this.interval = interval;
    this.timeout = timeout;
    this.after = after;
    this.listener = listener;
    thread.setDaemon(true);
  }

  public void start() {
    thread.start();
  }

  /** Requests a check soon. Any thread; returns at once. */
  public void refresh() {
    lock.lock();
    try {
      refresh = true;
      wanted.signal();
    } finally {
      lock.unlock();
    }
  }

  /** There is something to publish. Any thread; returns at once. */
  private void wake() {
    lock.lock();
    try {
      woken = true;
      wanted.signal();
    } finally {
      lock.unlock();
    }
  }

  private void run() {
    boolean failing = false;
    while (true) {
      long began = System.nanoTime();
      try {
        round();
        failing = false;
      } catch (InterruptedException e) {
        break;
      } catch (Throwable e) {
        if (!failing) {
          log.error("workers cannot be looked at; what was seen last holds", e);
        }
        failing = true;
      }
      if (!pause(began)) {
        break;
      }
    }
    workers.values().forEach(worker -> worker.link.close());
  }

  /** False when the watch has ended. */
  private boolean pause(long began) {
    long least = Math.min(LEAST_NANOS, interval.toNanos());
    lock.lock();
    try {
      while (!closed) {
        long passed = System.nanoTime() - began;
        long left = (refresh ? least : interval.toNanos()) - passed;
        if (left <= 0 || woken) {
          refresh = false;
          woken = false;
          return true;
        }
        var unused = wanted.awaitNanos(left);
      }
      return false;
    } catch (InterruptedException e) {
      return false;
    } finally {
      lock.unlock();
    }
  }

  private void round() throws IOException, InterruptedException {
    reconcile(source.workers());
    List<CompletableFuture<WorkerLook>> pending = new ArrayList<>();
    for (Watched worker : workers.values()) {
      if (worker.isToAsk()) {
        worker.pending = look(worker);
      }
      pending.add(worker.pending);
    }
    await(CompletableFuture.allOf(pending.toArray(CompletableFuture<?>[]::new)));
    List<WorkerLook> looks = new ArrayList<>();
    for (Watched worker : workers.values()) {
      if (worker.pending.isDone()) {
        boolean wasLate = worker.late;
        worker.late = false;
        worker.last = worker.pending.join();
        tell(worker);
        if (wasLate && !worker.last.isKnown()) { // in silence, which may end before the next round
          worker.pending = look(worker);
          var unused = worker.pending.thenAccept(this::noteBack);
        }
      } else if (!worker.late) {
        worker.late = true;
        var unused = worker.pending.thenRun(this::wake);
      }
      looks.add(worker.last);
    }
    listener.accept(looks);
  }

  private CompletableFuture<WorkerLook> look(Watched worker) {
    return after.apply(WorkerLook.at(worker.link, timeout, worker.last));
  }

  private void noteBack(WorkerLook look) {
    if (look.isKnown()) {
      wake();
    }
  }

  /** A failure that needs an operator is reported once. */
  private static void tell(Watched worker) {
    String trouble = worker.last.needsOperator() ? worker.last.failure() : "";
    if (!trouble.isEmpty() && !trouble.equals(worker.told)) {
      log.warn("worker '{}' cannot be asked: {}", worker.link.name(), trouble);
    }
    worker.told = trouble;
  }

  private void await(CompletableFuture<Void> all) throws InterruptedException {
    try {
      all.get(Math.min(interval.toNanos(), LEAST_NANOS), TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      // those that have not answered yet are as they were
    } catch (ExecutionException e) {
      throw new IllegalStateException("a look has failed", e);
    }
  }

  private void reconcile(List<WorkerAddress> found) {
    Map<String, WorkerAddress> wanted = HashMap.newHashMap(found.size());
    found.forEach(worker -> wanted.put(worker.name(), worker));
    workers
        .values()
        .removeIf(
            known -> {
              boolean gone = !known.link.worker().equals(wanted.get(known.link.name()));
              if (gone) {
                log.info("worker '{}' is none any more", known.link.name());
                known.link.close();
              }
              return gone;
            });
    for (WorkerAddress worker : found) {
      if (!workers.containsKey(worker.name())) {
        log.info("worker '{}' at {}", worker.name(), text(worker));
        workers.put(worker.name(), new Watched(links.apply(worker)));
      }
    }
  }

  private static String text(WorkerAddress worker) {
    return worker.grpc().getHostString() + ":" + worker.grpc().getPort();
  }

  /** Stops checking, and closes the links to workers. */
  @Override
  public void close() {
    lock.lock();
    try {
      closed = true;
      wanted.signal();
    } finally {
      lock.unlock();
    }
    thread.interrupt();
  }
}
