package dev.roundhouse.engine.dispatch;

import static dev.roundhouse.engine.testing.SmallDevice.BYTES;
import static dev.roundhouse.engine.testing.SmallDevice.SCRATCH;
import static dev.roundhouse.engine.testing.SmallDevice.load;
import static dev.roundhouse.engine.testing.SmallDevice.row;
import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.SchedulerReport;
import dev.roundhouse.engine.dispatch.DispatchState.LaneState;
import dev.roundhouse.engine.dispatch.DispatchState.Place;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.testing.SmallDevice;
import dev.roundhouse.engine.testing.TestEngine;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What one is told who asks again and again, of twelve models of which eleven fit. */
@Timeout(60)
class LaneNewsTest {
  private static final int MODELS = 12;

  private final TestEngine engine =
      SmallDevice.engine((MODELS - 1) * BYTES + SCRATCH, 1_000_000, 1_000L * BYTES);

  /** As one who keeps what was told has it. */
  private final Map<String, LaneState> known = new HashMap<>();

  LaneNewsTest() {
    for (int i = 0; i < MODELS; i++) {
      load(engine, "m" + i, 2, BYTES);
    }
    assertThat(tell(true)).hasSize(MODELS);
  }

  @Test
  void shouldTellOfModelsThatIdleInTurn() {
    Map<String, Integer> told = new HashMap<>();
    for (int i = 0; i < LaneNews.TURNS; i++) {
      List<String> now = tell(false);
      assertThat(now).hasSizeLessThanOrEqualTo(MODELS / LaneNews.TURNS + 1);
      now.forEach(model -> told.merge(model, 1, Integer::sum));
    }
    assertThat(told).hasSize(MODELS).allSatisfy((model, times) -> assertThat(times).isOne());
  }

  @Test
  void shouldTellAtOnceWhateverHasChanged() {
    for (int i = 0; i < LaneNews.TURNS; i++) { // whoever's turn it is
      String model = "m" + i;
      assertThat(engine.engine().admin().setWeight(model, 3 + i)).isTrue();
      assertThat(tell(false)).contains(model);
      assertThat(lane(model).weight()).isEqualTo(3 + i);

      Submission call = engine.submit(model, row(1));
      assertThat(tell(false)).contains(model);
      engine.run();
      engine.completed(call);
      assertThat(tell(false)).contains(model);
      assertThat(lane(model).queued()).isZero();
      assertThat(lane(model).waiting()).isNull();
      assertKnownIsTrue();
    }
  }

  /** Of each model the place, the queue, the weight and the pin. */
  private void assertKnownIsTrue() {
    List<LaneState> all = engine.state().models();
    assertThat(all).hasSize(MODELS);
    for (LaneState now : all) {
      LaneState then = lane(now.model());
      assertThat(then.weights().place()).as(now.model()).isEqualTo(now.weights().place());
      assertThat(then.weights().pinned()).isEqualTo(now.weights().pinned());
      assertThat(then.weight()).isEqualTo(now.weight());
      assertThat(then.queued()).isEqualTo(now.queued());
    }
    assertThat(all).filteredOn(each -> each.weights().place() == Place.ABSENT).isNotEmpty();
  }

  private LaneState lane(String model) {
    return Objects.requireNonNull(known.get(model), model);
  }

  private List<String> tell(boolean first) {
    CompletableFuture<SchedulerReport> report = engine.engine().reports().schedulerNews(first);
    engine.step();
    List<LaneState> told = report.join().dispatch().models();
    told.forEach(state -> known.put(state.model(), state));
    return told.stream().map(LaneState::model).toList();
  }
}
