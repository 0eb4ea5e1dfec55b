package dev.roundhouse.worker.page;

import dev.roundhouse.engine.CountedModel;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.SchedulerReport;
import dev.roundhouse.engine.dispatch.DispatchState.LaneState;
import dev.roundhouse.engine.time.NanoClock;
import dev.roundhouse.worker.actuator.DispatchSnapshot;
import java.time.Duration;
import java.util.Collections;
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
      question = engine.reports().schedulerWithReasons();
    }
    DispatchSnapshot dispatch = DispatchSnapshot.await(question, PATIENCE);
    asked = question.isDone() ? null : question;
    return new Moment(
        System.currentTimeMillis(),
        clock.nanoTime(),
        dispatch.state(),
        dispatch.unknownBecause(),
        engine.reports().deviceTime(),
        engine.reports().residentWeightBytes(),
        rows(engine.reports().counted(), dispatch));
  }

  private static Map<String, ModelRow> rows(List<CountedModel> models, DispatchSnapshot dispatch) {
    Map<String, ModelRow> rows = LinkedHashMap.newLinkedHashMap(models.size());
    for (CountedModel model : models) {
      LaneState lane = dispatch.lanes().get(model.name());
      rows.put(model.name(), ModelRow.of(model, lane, lane != null && dispatch.idles(lane)));
    }
    return Collections.unmodifiableMap(rows);
  }
}
