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
 * Looks at all workers, again and again, on a thread of its own. A worker that does not answer in
 * time is waited for by itself: the others are looked at as often as ever.
 */
public final class FleetWatch implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(FleetWatch.class);

  /** Between two looks, whoever asks for one. */
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
  private boolean closed;

  private static final class Watched {
    final WorkerLink link;
    CompletableFuture<WorkerLook> pending;
    WorkerLook last;
    String told = "";

    Watched(WorkerLink link) {
      this.link = link;
      last = WorkerLook.none(link);
      pending = CompletableFuture.completedFuture(last);
    }
  }

  /**
   * @param links makes the way to a worker
   * @param timeout a worker that has not answered a look in so long is not ready
   * @param after what else is to be done with a worker before it is taken to be as it was seen
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

  /** Has the workers be looked at soon. Any thread; returns at once. */
  public void refresh() {
    lock.lock();
    try {
      refresh = true;
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

  /** False when it is over. */
  private boolean pause(long began) {
    long least = Math.min(LEAST_NANOS, interval.toNanos());
    lock.lock();
    try {
      while (!closed) {
        long passed = System.nanoTime() - began;
        long left = (refresh ? least : interval.toNanos()) - passed;
        if (left <= 0) {
          refresh = false;
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
      if (worker.pending.isDone()) {
        worker.pending = after.apply(WorkerLook.at(worker.link, timeout, worker.last));
      }
      pending.add(worker.pending);
    }
    await(CompletableFuture.allOf(pending.toArray(CompletableFuture<?>[]::new)));
    List<WorkerLook> looks = new ArrayList<>();
    for (Watched worker : workers.values()) {
      if (worker.pending.isDone()) {
        worker.last = worker.pending.join();
        tell(worker);
      }
      looks.add(worker.last);
    }
    listener.accept(looks);
  }

  /** What is wrong with TLS does not mend itself: somebody has to hear of it, once. */
  private static void tell(Watched worker) {
    String trouble = worker.last.disagreesOnTls() ? worker.last.failure() : "";
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

  /** Looks no more, and closes what it has of the workers. */
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
