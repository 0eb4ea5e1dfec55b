package dev.roundhouse.worker.page;

import dev.roundhouse.engine.CountedModel;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.SchedulerReport;
import dev.roundhouse.engine.dispatch.DispatchState.LaneState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.time.NanoClock;
import dev.roundhouse.worker.actuator.DispatchSnapshot;
import java.time.Duration;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Looks at the engine, at most about once a second however many pages are open, and only when one
 * asks. The dispatch thread has at most one question of the page's before it, also when it is held
 * up for minutes: its inbox is for others. Thread-safe.
 */
final class Moments {
  /** Of the second after which a page asks again: one that is a little early gets a new moment. */
  private static final long FRESH_NANOS = Duration.ofMillis(900).toNanos();

  /** The dispatch thread answers between two turns; a run in its own call may hold it up. */
  private static final Duration PATIENCE = Duration.ofMillis(300);

  private final Engine engine;
  private final NanoClock clock;
  private final ReentrantLock one = new ReentrantLock();

  /** What the dispatch thread said of each model's lane, which it does not repeat. */
  private final Map<String, LaneState> lanes = new HashMap<>();

  private @Nullable Moment latest;
  private @Nullable CompletableFuture<SchedulerReport> asked;

  Moments(Engine engine, NanoClock clock) {
    this.engine = engine;
    this.clock = clock;
  }

  /** The latest moment, or a new one when that is old. */
  Moment now() {
    one.lock();
    try {
      Moment known = latest;
      if (known == null || clock.nanoTime() - known.madeNanos() >= FRESH_NANOS) {
        known = look();
        latest = known;
      }
      return known;
    } finally {
      one.unlock();
    }
  }

  private Moment look() {
    CompletableFuture<SchedulerReport> question = asked;
    if (question == null) {
      question = engine.reports().schedulerNews(lanes.isEmpty());
    }
    DispatchSnapshot dispatch = DispatchSnapshot.await(question, PATIENCE);
    asked = question.isDone() ? null : question;
    dispatch.lanes().forEach((name, lane) -> lanes.merge(name, lane, DispatchSnapshot::newer));
    return new Moment(
        System.currentTimeMillis(),
        clock.nanoTime(),
        dispatch.state(),
        dispatch.unknownBecause(),
        engine.reports().deviceTime(),
        engine.reports().residentWeightBytes(),
        rows(engine.reports().counted(), dispatch));
  }

  /** Those of models of which nothing has changed are the rows from before. */
  private Map<String, ModelRow> rows(List<CountedModel> models, DispatchSnapshot dispatch) {
    Map<String, ModelRow> before = latest == null ? Map.of() : latest.models();
    Map<String, ModelRow> rows = LinkedHashMap.newLinkedHashMap(models.size());
    for (CountedModel model : models) {
      LaneState lane = dispatch.state() == null ? null : lane(model.status(), dispatch);
      boolean idles = lane != null && dispatch.idles(lane);
      rows.put(model.name(), ModelRow.of(model, lane, idles, before.get(model.name())));
    }
    if (lanes.size() > rows.size()) {
      lanes.keySet().retainAll(rows.keySet());
    }
    return Collections.unmodifiableMap(rows);
  }

  /** What is known of a model's lane; null when it has none. */
  private @Nullable LaneState lane(ModelStatus status, DispatchSnapshot dispatch) {
    LaneState known = lanes.get(status.name());
    if (known != null && status.isReady() && known.version().equals(status.version())) {
      return known;
    }
    lanes.remove(status.name()); // of a version that does not answer any more
    return dispatch.lanes().get(status.name());
  }
}
