package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.schedule.Discipline;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The dispatch loop at one moment.
 *
 * @param discipline which model runs next
 * @param running the model of the execution in flight; null when the device idles
 * @param armed the model whose batch runs next; null when none has been made up
 * @param longestCycleNanos longest time between two choices while there was work, with what the
 *     device did on the loop's own thread
 * @param models every model that may be sent requests
 */
public record DispatchState(
    String discipline,
    @Nullable String running,
    @Nullable String armed,
    long longestCycleNanos,
    List<LaneState> models) {

  /**
   * One model at that moment.
   *
   * @param version of the model: several may serve, and one that is replaced runs what it accepted
   * @param weight relative to other models
   * @param queued requests in its queue, of which some may have been cancelled
   * @param held true while its batch waits for more requests
   * @param standing its claim on the device; null when the discipline knows none
   */
  public record LaneState(
      String model,
      String version,
      double weight,
      int queued,
      boolean held,
      Discipline.@Nullable Standing standing) {}
}
