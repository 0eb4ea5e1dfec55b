package dev.roundhouse.transport.io;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A few threads for work that peers cause and that takes the processor for long. Owners take turns,
 * and so do the jobs of one owner: who has much to do waits for itself. The threads begin with the
 * first job. Thread-safe.
 */
public final class FairTurns implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(FairTurns.class);

  private final String name;
  private final int most;
  private final Map<Object, Lane> lanes = new HashMap<>();
  private final Queue<Lane> ready = new ArrayDeque<>();
  private int threads;
  private int idle;
  private boolean closed;

  /** Work that is done in turns. */
  @FunctionalInterface
  public interface Job {
    /**
     * Does as much as is fair to others who wait.
     *
     * @return true when there is no more to do
     */
    boolean turn();
  }

  /** What one owner has to do; guarded by the outer lock. */
  private static final class Lane {
    private final Object owner;
    private final Queue<Job> jobs = new ArrayDeque<>(1);

    Lane(Object owner) {
      this.owner = owner;
    }
  }

  /**
   * @param name of the threads
   * @param most threads at a time
   */
  public FairTurns(String name, int most) {
    this.name = name;
    this.most = most;
  }

  /**
   * Has a job done.
   *
   * @param owner whose jobs take turns with each other
   * @return false when nothing is done any more
   */
  public synchronized boolean submit(Object owner, Job job) {
    if (closed) {
      return false;
    }
    Lane lane = lanes.get(owner);
    if (lane == null) {
      lane = new Lane(owner);
      lanes.put(owner, lane);
      ready.add(lane);
    }
    lane.jobs.add(job);
    if (idle == 0 && threads < most) {
      threads++;
      Thread.ofPlatform().daemon().name(name + "-" + threads).start(this::work);
    } else {
      notify();
    }
    return true;
  }

  private void work() {
    for (Lane lane = next(null); lane != null; lane = next(lane)) {
      Job job = first(lane);
      boolean done = true;
      try {
        done = job.turn();
      } catch (Throwable e) {
        log.error("a job of {} has failed", name, e);
      }
      hadTurn(lane, done);
    }
  }

  private synchronized Job first(Lane lane) {
    return lane.jobs.element();
  }

  private synchronized void hadTurn(Lane lane, boolean done) {
    Job job = lane.jobs.remove();
    if (!done) {
      lane.jobs.add(job);
    } else if (lane.jobs.isEmpty()) {
      lanes.remove(lane.owner);
    }
  }

  /** Whose turn it is, once this one has had its; null when there will be no more. */
  private synchronized @Nullable Lane next(@Nullable Lane had) {
    if (had != null && !had.jobs.isEmpty()) {
      ready.add(had);
    }
    while (ready.isEmpty() && !closed) {
      idle++;
      try {
        wait();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return null;
      } finally {
        idle--;
      }
    }
    return ready.poll();
  }

  /** No more jobs are taken; those that are here end. */
  @Override
  public synchronized void close() {
    closed = true;
    notifyAll();
  }
}
