package dev.roundhouse.worker.actuator;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.SchedulerReport;
import dev.roundhouse.engine.dispatch.DispatchState;
import dev.roundhouse.engine.dispatch.DispatchState.LaneState;
import java.math.BigInteger;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * What the dispatch thread said of itself, or why it said nothing.
 *
 * @param state null when it did not answer
 * @param lanes of {@code state}, by model
 * @param unknownBecause null when it answered
 */
public record DispatchSnapshot(
    @Nullable DispatchState state, Map<String, LaneState> lanes, @Nullable String unknownBecause) {

  /** How long a person waits: the thread answers between two executions. */
  private static final Duration PATIENCE = Duration.ofSeconds(2);

  /** Asks, and waits for the answer, but not for long. */
  static DispatchSnapshot of(Engine engine) {
    return await(engine.reports().scheduler());
  }

  /** As {@link #of}, with why what waits does not run. */
  static DispatchSnapshot withReasons(Engine engine) {
    return await(engine.reports().schedulerWithReasons());
  }

  /** Waits for an answer, but not for long. */
  static DispatchSnapshot await(CompletableFuture<SchedulerReport> answer) {
    return await(answer, PATIENCE);
  }

  /** As {@link #await(CompletableFuture)}, for as long as is said. */
  public static DispatchSnapshot await(
      CompletableFuture<SchedulerReport> answer, Duration patience) {
    try {
      DispatchState state = answer.get(patience.toNanos(), TimeUnit.NANOSECONDS).dispatch();
      Map<String, LaneState> lanes = HashMap.newHashMap(state.models().size());
      state.models().forEach(lane -> lanes.merge(lane.model(), lane, DispatchSnapshot::newer));
      return new DispatchSnapshot(state, lanes, null);
    } catch (TimeoutException e) {
      return unknown(
          "the dispatch thread did not answer within %d ms: an execution takes longer than that"
              .formatted(patience.toMillis()));
    } catch (CancellationException e) {
      return unknown("the dispatch thread takes no questions: it stops, or too many wait");
    } catch (ExecutionException e) {
      return unknown(
          e.getCause() instanceof CancellationException
              ? "the dispatch thread takes no questions: it stops, or too many wait"
              : "the dispatch thread failed to answer: " + e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return unknown("the worker stops");
    }
  }

  /** Of several versions, the default one; of one, what was said later. */
  public static LaneState newer(LaneState a, LaneState b) {
    return new BigInteger(a.version()).compareTo(new BigInteger(b.version())) > 0 ? a : b;
  }

  /** Why nothing is known of a model's place in the schedule; null when something is. */
  @Nullable String whyUnknown(String model, boolean ready) {
    if (lanes.containsKey(model)) {
      return null;
    }
    if (unknownBecause != null && ready) {
      return unknownBecause;
    }
    return "the model was not ready when the dispatch thread was asked";
  }

  /** True when nothing of a model waits or runs: it takes no part in what others share. */
  public boolean idles(LaneState lane) {
    DispatchState known = Objects.requireNonNull(state);
    return lane.queued() == 0
        && !lane.model().equals(known.running())
        && !lane.model().equals(known.armed());
  }

  private static DispatchSnapshot unknown(String reason) {
    return new DispatchSnapshot(null, Map.of(), reason);
  }
}
