package dev.roundhouse.worker.page;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.device.ReferenceFunction;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.TestImage;
import dev.roundhouse.engine.time.ManualClock;
import dev.roundhouse.platform.page.Changes;
import dev.roundhouse.platform.rest.Json;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.core.JsonGenerator;

/**
 * How often the engine is looked at, and what a look takes: {@code -Dpage.models=10000} prints the
 * figures that {@code docs/ui.md} has.
 */
@Timeout(300)
class MomentsTest {
  private static final int MODELS = Integer.getInteger("page.models", 100);
  private static final int AT_A_TIME = 100;
  private static final int LOOKS = 20;
  private static final LiveEngine ENGINE =
      new LiveEngine(EngineOptions.builder().build(), ReferenceFunction.ZERO);

  private final ManualClock clock = new ManualClock();
  private final Moments moments = new Moments(ENGINE.engine(), clock);

  @BeforeAll
  static void start() {
    for (int first = 0; first < MODELS; first += AT_A_TIME) {
      List<CompletableFuture<ModelStatus>> loads = new ArrayList<>();
      for (int i = first; i < Math.min(MODELS, first + AT_A_TIME); i++) {
        loads.add(ENGINE.engine().admin().load(TestImage.weighted("model-" + i, "1", () -> {})));
      }
      loads.forEach(load -> assertThat(LiveEngine.get(load).isReady()).isTrue());
    }
  }

  @AfterAll
  static void stop() {
    ENGINE.close();
  }

  @Test
  void shouldLookOnceASecondHoweverManyPagesAsk() {
    Moment first = moments.now();
    clock.advance(TimeUnit.MILLISECONDS.toNanos(500));
    assertThat(moments.now()).isSameAs(first);
    clock.advance(TimeUnit.MILLISECONDS.toNanos(499));
    assertThat(moments.now()).isNotSameAs(first);
  }

  @Test
  void shouldTellOfEveryModelAndThenOfNone() {
    Changes none = new Changes(false, false);
    View view = new View(moments::now, () -> new Serving(true, false), none);
    assertThat(events(view)).isGreaterThan(50L * MODELS);
    long shortest = Long.MAX_VALUE;
    long size = 0;
    for (int look = 0; look < LOOKS; look++) {
      clock.advance(TimeUnit.SECONDS.toNanos(1));
      long start = System.nanoTime();
      size = events(view);
      shortest = Math.min(shortest, System.nanoTime() - start);
    }
    System.out.printf(
        "a look at %d models that idle, and its event: %.2f ms, %.1f KB%n",
        MODELS, shortest / 1e6, size / 1e3);
    assertThat(size).as("nothing has changed").isLessThan(20_000);
  }

  /** Bytes of the data of the events that follow without a pause. */
  private static long events(View view) {
    long bytes = 0;
    boolean all = false;
    while (!all) {
      ByteArrayOutputStream event = new ByteArrayOutputStream();
      try (JsonGenerator json = Json.generator(event)) {
        all = view.next(json);
      }
      bytes += event.size();
    }
    return bytes;
  }
}
