package dev.roundhouse.worker.transport.tstream;

import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * Where the messages of streams are at one moment. What waits, runs and is being sent is together
 * what is in use of their windows.
 *
 * @param receiving begun, and not whole: no part of a window yet
 * @param waiting taken, and in no batch
 * @param running in a batch that runs or is about to
 * @param sending over, and the system has not taken all of the result
 */
public record StreamStages(long receiving, long waiting, long running, long sending) {
  public static final StreamStages NONE = new StreamStages(0, 0, 0, 0);

  /** For loops that are busy to look. */
  private static final long PATIENCE_MILLIS = 200;

  StreamStages plus(StreamStages other) {
    return new StreamStages(
        receiving + other.receiving,
        waiting + other.waiting,
        running + other.running,
        sending + other.sending);
  }

  /** Messages in use of windows. */
  public long open() {
    return waiting + running + sending;
  }

  /**
   * Has each event loop look at its streams. What a loop does not say in time is left out, and so
   * is one that stops.
   *
   * @throws InterruptedException when interrupted
   */
  static StreamStages of(Collection<StreamConnection> streams) throws InterruptedException {
    Map<EventLoop, List<StreamConnection>> byLoop =
        streams.stream().collect(Collectors.groupingBy(StreamConnection::eventLoop));
    List<Future<StreamStages>> looks = new ArrayList<>(byLoop.size());
    byLoop.forEach(
        (loop, its) -> {
          if (loop.isShuttingDown()) {
            return;
          }
          try {
            looks.add(loop.submit(() -> sum(its)));
          } catch (RejectedExecutionException e) { // it has stopped just now
          }
        });
    StreamStages all = NONE;
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(PATIENCE_MILLIS);
    for (Future<StreamStages> look : looks) {
      if (look.await(Math.max(0, end - System.nanoTime()), TimeUnit.NANOSECONDS)
          && look.isSuccess()) {
        all = all.plus(look.getNow());
      }
    }
    return all;
  }

  private static StreamStages sum(List<StreamConnection> streams) {
    StreamStages sum = NONE;
    for (StreamConnection stream : streams) {
      sum = sum.plus(stream.stages());
    }
    return sum;
  }
}
