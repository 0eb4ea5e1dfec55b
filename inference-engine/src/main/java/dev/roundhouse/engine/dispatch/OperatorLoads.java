package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.lane.ModelLane;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Weights that the operator has requested, whether or not a request waits. */
final class OperatorLoads {
  private final List<Asked> asked = new ArrayList<>();

  /**
   * @param done completed when the weights are on the device
   */
  void add(ModelLane lane, CompletableFuture<Void> done, long nowNanos) {
    asked.add(new Asked(lane, done, nowNanos));
  }

  boolean isEmpty() {
    return asked.isEmpty();
  }

  /** The first whose weights are not being loaded yet; null when there is none. */
  @Nullable Asked next() {
    for (Asked each : asked) {
      if (each.waits()) {
        return each;
      }
    }
    return null;
  }

  /** Lanes whose weights are not being loaded yet, in the order in which they will be. */
  List<ModelLane> line() {
    return asked.stream().filter(Asked::waits).map(Asked::lane).toList();
  }

  /** A lane's weights are there. */
  void arrived(ModelLane lane) {
    take(lane).forEach(each -> each.done.complete(null));
  }

  /** A lane's weights cannot be brought; false when nobody has asked for them. */
  boolean failed(ModelLane lane, Throwable failure) {
    List<Asked> taken = take(lane);
    taken.forEach(each -> each.done.completeExceptionally(failure));
    return !taken.isEmpty();
  }

  private List<Asked> take(ModelLane lane) {
    if (asked.isEmpty()) {
      return List.of();
    }
    List<Asked> taken = asked.stream().filter(each -> each.lane == lane).toList();
    asked.removeAll(taken);
    return taken;
  }

  /** Gives up on everything. */
  void abandon() {
    asked.forEach(each -> each.done.cancel(false));
    asked.clear();
  }

  record Asked(ModelLane lane, CompletableFuture<Void> done, long sinceNanos) {
    private boolean waits() {
      return !lane.isLoading() && !lane.isResident();
    }
  }
}
