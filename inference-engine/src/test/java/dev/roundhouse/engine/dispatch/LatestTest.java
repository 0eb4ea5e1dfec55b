package dev.roundhouse.engine.dispatch;

import static dev.roundhouse.engine.testing.SmallDevice.BYTES;
import static dev.roundhouse.engine.testing.SmallDevice.MILLIS;
import static dev.roundhouse.engine.testing.SmallDevice.SCRATCH;
import static dev.roundhouse.engine.testing.SmallDevice.load;
import static dev.roundhouse.engine.testing.SmallDevice.row;
import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.dispatch.DispatchState.Eviction;
import dev.roundhouse.engine.dispatch.DispatchState.Latest;
import dev.roundhouse.engine.dispatch.DispatchState.Span;
import dev.roundhouse.engine.testing.SmallDevice;
import dev.roundhouse.engine.testing.TestEngine;
import java.util.Comparator;
import org.junit.jupiter.api.Test;

/** What the dispatch thread tells of the latest runs and loads. */
class LatestTest {
  private static final long RUN = 10 * MILLIS;

  /** What the link brings in a second: a model's weights in 1 ms. */
  private static final long LINK = 1_000L * BYTES;

  @Test
  void shouldTellWhatRanAndWhatWasLoadedForHowLongAndWhen() {
    TestEngine engine = engine();
    DispatchState before = engine.state();
    engine.submit("a", row(1)); // whose weights have left for the others'
    engine.run();
    DispatchState after = engine.state();
    assertThat(after.runs().ever()).isEqualTo(before.runs().ever() + 1);
    assertThat(after.loads().ever()).isEqualTo(before.loads().ever() + 1);
    Span run = after.runs().spans().getLast();
    Span load = after.loads().spans().getLast();
    assertThat(run.model()).isEqualTo("a");
    assertThat(run.tookNanos()).isBetween(RUN, RUN + MILLIS / 10);
    assertThat(run.endedNanos()).isBetween(before.atNanos() + RUN, after.atNanos());
    assertThat(load.model()).isEqualTo("a");
    assertThat(load.tookNanos()).isBetween(MILLIS, MILLIS + MILLIS / 10);
    assertThat(load.endedNanos()).isLessThanOrEqualTo(run.endedNanos() - RUN);
    engine.assertNothingLeaks();
  }

  @Test
  void shouldKeepTheLatestAndCountAll() {
    TestEngine engine = engine();
    long before = engine.state().runs().ever();
    for (int i = 0; i < RecentRuns.KEPT + 10; i++) {
      engine.submit("c", row(1));
      engine.run();
    }
    Latest runs = engine.state().runs();
    assertThat(runs.ever()).isEqualTo(before + RecentRuns.KEPT + 10);
    assertThat(runs.spans()).hasSize(RecentRuns.KEPT);
    assertThat(runs.spans()).isSortedAccordingTo(Comparator.comparingLong(Span::endedNanos));
    assertThat(runs.spans()).extracting(Span::model).containsOnly("c");
  }

  @Test
  void shouldLeaveOutModelsThatAreGone() {
    TestEngine engine = engine();
    engine.submit("a", row(1));
    engine.run();
    long before = engine.state().runs().ever();
    var unloaded = engine.engine().admin().unload("a");
    engine.run();
    assertThat(unloaded).isCompleted();
    DispatchState after = engine.state();
    assertThat(after.runs().ever()).isEqualTo(before);
    assertThat(after.runs().spans()).extracting(Span::model).contains("b").doesNotContain("a");
    assertThat(after.loads().spans()).extracting(Span::model).contains("b").doesNotContain("a");
  }

  @Test
  void shouldTellWhoseWeightsLeftForWhom() {
    TestEngine engine = engine();
    Eviction atLoad = engine.state().evictions().getLast();
    assertThat(atLoad.model()).isEqualTo("a");
    assertThat(atLoad.forModel()).isEqualTo("c");
    engine.submit("a", row(1));
    engine.run();
    DispatchState after = engine.state();
    Eviction latest = after.evictions().getLast();
    assertThat(latest.model()).isIn("b", "c");
    assertThat(latest.forModel()).isEqualTo("a");
    assertThat(latest.atNanos()).isBetween(atLoad.atNanos(), after.atNanos());
    engine.engine().admin().unload("a");
    engine.run();
    assertThat(engine.state().evictions())
        .as("nobody asks about what left for a model that is gone")
        .noneMatch(each -> "a".equals(each.forModel()) || each.model().equals("a"));
  }

  @Test
  void shouldKeepTheLatestEvictions() {
    TestEngine engine = engine();
    for (int i = 0; i < RecentEvictions.KEPT; i++) {
      engine.submit(i % 2 == 0 ? "a" : "b", row(1));
      engine.submit("c", row(1));
      engine.run();
    }
    assertThat(engine.state().evictions())
        .hasSize(RecentEvictions.KEPT)
        .isSortedAccordingTo(Comparator.comparingLong(Eviction::atNanos));
  }

  /** Of three models, the weights of two fit: those of b and c are there. */
  private static TestEngine engine() {
    TestEngine engine = SmallDevice.engine(2L * BYTES + SCRATCH, RUN, LINK);
    load(engine, "a", 2, BYTES);
    load(engine, "b", 3, BYTES);
    load(engine, "c", 5, BYTES);
    engine.run();
    return engine;
  }
}
