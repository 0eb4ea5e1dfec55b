package dev.roundhouse.engine.dispatch;

import static dev.roundhouse.engine.testing.LiveEngine.get;
import static dev.roundhouse.engine.testing.LiveEngine.outcome;
import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.HookedDevice.Call;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.ReplySink.Reply;
import dev.roundhouse.engine.testing.TestBundle;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A device whose memory the host does not see: outputs are read whole, once, and cut apart then.
 */
@Timeout(60)
class OwnMemoryDeviceTest {
  @TempDir Path repository;

  private final LiveEngine engine =
      new LiveEngine(
          EngineOptions.builder().discipline(Fifo::new).build(), TestBundle.DOUBLE, false, false);
  private final AtomicInteger reads = new AtomicInteger();

  @AfterEach
  void shouldLeaveNothing() {
    engine.assertWell();
    engine.close();
  }

  @ParameterizedTest
  @ValueSource(ints = {3, 70_000}) // answered by dispatch, and by outputs
  void shouldReadEachOutputOnceAndGiveEveryCallerItsOwnRows(int width) {
    load(width);
    List<CompletableFuture<Reply>> batch = runTogether(width);
    for (int i = 0; i < batch.size(); i++) {
      float[] values = Floats.of(get(batch.get(i)).outputs().getFirst());
      assertThat(values).hasSize(width);
      assertThat(values[0]).isEqualTo(2f * i);
      assertThat(values[width - 1]).isEqualTo(2f * (i + (width - 1) % 1000));
      assertThat(get(batch.get(i)).timings().batchRows()).isEqualTo(4);
    }
    assertThat(reads).as("one read for four callers").hasValue(1);
  }

  @ParameterizedTest
  @ValueSource(ints = {3, 70_000})
  void shouldPutPiecesTogether(int width) {
    load(width);
    float[] values = Floats.of(get(engine.submit("m", rows(11, width, 5))).outputs().getFirst());
    assertThat(values).hasSize(11 * width);
    for (int i = 0; i < values.length; i++) {
      if (values[i] != 2f * (5 + i % 1000)) {
        assertThat(values[i]).as("value %d", i).isNaN();
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {3, 70_000})
  void shouldFailTheBatchWhoseOutputsCannotBeRead(int width) {
    load(width);
    engine
        .device()
        .hook(
            (call, of) -> {
              if (call == Call.READ) {
                throw new IllegalStateException("made by a test");
              }
            });
    assertThat(outcome(engine.submit("m", rows(1, width, 1)))).isInstanceOf(Outcome.Failed.class);
    engine.device().hook((call, of) -> {});
    runTogether(width).forEach(LiveEngine::assertCompleted);
  }

  /** Four requests that share a run. */
  private List<CompletableFuture<Reply>> runTogether(int width) {
    engine.runsTake(100_000_000);
    long before = engine.executions();
    CompletableFuture<Reply> running = engine.submit("m", rows(1, width, 0));
    LiveEngine.await("it runs", () -> engine.executions() > before);
    List<CompletableFuture<Reply>> batch = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      batch.add(engine.submit("m", rows(1, width, i)));
    }
    LiveEngine.assertCompleted(running);
    reads.set(0);
    batch.forEach(LiveEngine::get);
    return batch;
  }

  private void load(int width) {
    engine.load(TestBundle.doubling(width, 1, 4).write(repository, "m"));
    engine
        .device()
        .hook(
            (call, of) -> {
              if (call == Call.READ) {
                reads.incrementAndGet();
              }
            });
  }

  private static InputTensor rows(int rows, int width, int first) {
    float[] values = new float[rows * width];
    for (int i = 0; i < values.length; i++) {
      values[i] = first + i % 1000;
    }
    return Floats.input("x", new long[] {rows, width}, values);
  }
}
