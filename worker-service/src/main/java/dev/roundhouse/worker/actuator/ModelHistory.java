package dev.roundhouse.worker.actuator;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.roundhouse.engine.ModelReport;
import dev.roundhouse.engine.dispatch.DispatchState;
import dev.roundhouse.engine.observe.InferenceReading;
import dev.roundhouse.engine.observe.TimeHistogram;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What is told of one model only, when that is asked for: it would be much for all of them.
 *
 * @param answers of requests, from their acceptance to their answers: how many took how long
 * @param waits of requests, until their batches were made up
 * @param notAnswered how requests ended that were not, and what would change that
 * @param madeRoomFor whose weights its own left the device for, the latest last; null when the
 *     dispatch thread did not say
 * @param tookRoomOf whose weights left the device for its own
 */
@JsonInclude // null says that something is not known
public record ModelHistory(
    List<Times> answers,
    List<Times> waits,
    List<NotAnswered> notAnswered,
    @Nullable List<Evicted> madeRoomFor,
    @Nullable List<Evicted> tookRoomOf) {

  /** Requests since the start that took at most so long, and longer than those before. */
  public record Times(double upToMicros, long requests) {}

  /**
   * @param model the other one; null where an operator had weights leave
   */
  @JsonInclude
  public record Evicted(@Nullable String model, double secondsAgo) {}

  static ModelHistory of(
      ModelReport report,
      InferenceReading answered,
      DispatchSnapshot dispatch,
      List<NotAnswered> notAnswered) {
    String name = report.status().name();
    DispatchState state = dispatch.state();
    List<Evicted> madeRoom = new ArrayList<>();
    List<Evicted> tookRoom = new ArrayList<>();
    if (state != null) {
      for (DispatchState.Eviction each : state.evictions()) {
        double ago = (state.atNanos() - each.atNanos()) / 1e9;
        if (each.model().equals(name)) {
          madeRoom.add(new Evicted(each.forModel(), ago));
        } else if (name.equals(each.forModel())) {
          tookRoom.add(new Evicted(each.model(), ago));
        }
      }
    }
    return new ModelHistory(
        times(answered.times().answers()),
        times(answered.times().waits()),
        notAnswered,
        state == null ? null : madeRoom,
        state == null ? null : tookRoom);
  }

  private static List<Times> times(TimeHistogram histogram) {
    List<Times> times = new ArrayList<>();
    for (int i = 0; i < histogram.size(); i++) {
      if (histogram.count(i) > 0) {
        double doublings = (double) (histogram.first() + i) / TimeHistogram.BUCKETS_PER_DOUBLING;
        times.add(new Times(1e6 * Math.pow(2, doublings), histogram.count(i)));
      }
    }
    return times;
  }
}
