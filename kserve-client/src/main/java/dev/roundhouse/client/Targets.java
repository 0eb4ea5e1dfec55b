package dev.roundhouse.client;

import io.grpc.ConnectivityState;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** The servers of a client, and which of them a call goes to. Thread-safe. */
final class Targets {
  private final List<Target> all;
  private final AtomicInteger turn = new AtomicInteger();

  Targets(List<Target> all) {
    this.all = List.copyOf(all);
  }

  List<Target> all() {
    return all;
  }

  /**
   * The reachable one with the fewest open calls, round-robin among equals; all steps of a sequence
   * go to the same.
   */
  Target pick(@Nullable String sequence) {
    if (all.size() == 1) {
      return all.getFirst();
    }
    if (sequence != null) {
      return all.get(Math.floorMod(sequence.hashCode(), all.size()));
    }
    int first = Math.floorMod(turn.getAndIncrement(), all.size());
    Target best = all.get(first);
    long bestCost = cost(best);
    for (int i = 1; i < all.size(); i++) {
      Target next = all.get((first + i) % all.size());
      long cost = cost(next);
      if (cost < bestCost) {
        best = next;
        bestCost = cost;
      }
    }
    return best;
  }

  private static long cost(Target target) {
    boolean lost = target.channel.getState(false) == ConnectivityState.TRANSIENT_FAILURE;
    return target.open.get() + (lost ? Integer.MAX_VALUE : 0L);
  }

  void close(long timeoutNanos) {
    all.forEach(target -> target.channel.shutdownNow());
    long end = System.nanoTime() + timeoutNanos;
    try {
      for (Target target : all) {
        target.channel.awaitTermination(end - System.nanoTime(), TimeUnit.NANOSECONDS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
