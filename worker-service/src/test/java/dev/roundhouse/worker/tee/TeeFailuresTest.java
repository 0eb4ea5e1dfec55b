package dev.roundhouse.worker.tee;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.TensorData;
import dev.roundhouse.worker.tee.TeeCounts.Discard;
import dev.roundhouse.worker.tee.TeeCounts.Drop;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.util.unit.DataSize;

/** Copies that go wrong: they are counted, cost no answer, and the next one is made. */
@Timeout(60)
class TeeFailuresTest extends TapFixture {
  private static final LongSupplier NANOS = System::nanoTime;
  private static final Answer ONE = answer("1", -1, 1);

  /** An input for which there is no memory when it comes to it. */
  private record Exhausting(long byteSize, boolean whenLookedAt) implements TensorData {
    @Override
    public boolean isReadable() {
      if (whenLookedAt) {
        throw new OutOfMemoryError("of a test");
      }
      return true;
    }

    @Override
    public void copyTo(long offset, MemorySegment target, long targetOffset, long length) {
      throw new OutOfMemoryError("of a test");
    }
  }

  @Test
  void shouldCountWhatFailsBeforeItHasAPlace() throws Exception {
    try (BatchReader reader = open("m").reader()) {
      ask("m", inputs(new Exhausting(8, true), 1), ONE);
      assertThat(counts("m").dropped(Drop.FAILED)).isEqualTo(1);
      assertThat(counts("m").taken()).isZero();
      assertThat(told).containsExactly("part", "end");
      assertServesOn(reader);
    }
  }

  @Test
  void shouldLoseTheBatchOfWhatFailsLater() throws Exception {
    try (BatchReader reader = open("m").reader()) {
      ask(1);
      ask("m", inputs(new Exhausting(8, false), 1), ONE);
      assertThat(reader.next()).isNull();
      assertThat(counts("m").discarded(Discard.SPOILT)).isEqualTo(2);
      assertThat(counts("m").dropped()).as("what is counted with its batch").isZero();
      assertThat(told).hasSize(4);
      assertServesOn(reader);
    }
  }

  private void assertServesOn(BatchReader reader) {
    ask(3);
    ask(4);
    try (Batch batch = Objects.requireNonNull(reader.next())) {
      assertThat(at(batch, 0, 0, 1)).isEqualTo(3);
    }
  }

  @Test
  void shouldKeepTheThreadThatCopiesWhatIsLarge() throws Exception {
    try (BatchReader reader = open("wide").reader()) {
      ask("wide", inputs(new Exhausting(8L * WIDE, true), WIDE), answer("1", -1, WIDE));
      await(() -> told.size() == 2);
      assertThat(counts("wide").dropped(Drop.FAILED)).isEqualTo(1);
      for (int value = 1; value <= 2; value++) {
        int before = told.size();
        ask("wide", inputs(TensorData.of(row(value, WIDE)), WIDE), answer("1", -value, WIDE));
        await(() -> told.size() == before + 2);
      }
      try (Batch batch = Objects.requireNonNull(reader.next())) {
        assertThat(at(batch, 0, 1, WIDE)).isEqualTo(2);
      }
    }
  }

  @Test
  void shouldTellTheSinkWhenTheThreadThatCopiesHasStopped() throws Exception {
    try (BatchReader reader = open("wide").reader()) {
      List<InputTensor> asked = inputs(TensorData.of(row(1, WIDE)), WIDE);
      AnswerSink tapped = tee.tapped("wide", asked, sink);
      tee.close();
      tapped.onPart(answer("1", -1, WIDE));
      tapped.onEnd(new Outcome.Completed("1", TIMES));
      assertThat(told).containsExactly("part", "end");
      assertThat(counts("wide").dropped(Drop.BUSY)).isEqualTo(1);
      assertThat(reader.next()).isNull();
    }
  }

  /** For more than a process can address, so that no system promises it. */
  @Test
  void shouldRefuseAModelForWhichTheProcessHasNoMemory() throws Exception {
    models.put("m", status(model(1 << 25)));
    try (Tee large =
        new Tee(settings(1, 1 << 19, DataSize.ofTerabytes(1 << 20)), this::known, NANOS)) {
      assertThatThrownBy(() -> large.open("m", () -> {}).get())
          .cause()
          .isInstanceOfSatisfying(
              NotTeedException.class, why -> assertThat(why.isForGood()).isFalse())
          .hasMessageContaining("524288 batches of model 'm'");
      assertThat(large.heldBytes()).isZero();
      assertThat(large.tapped("m", inputs(TensorData.of(row(1, 1)), 1), sink))
          .as("nobody reads")
          .isSameAs(sink);
    }
  }

  @Test
  void shouldNotFillARingForAReaderThatCouldNotBeOpened() throws Exception {
    AtomicInteger looks = new AtomicInteger();
    try (Tee failing =
        new Tee(
            settings(1),
            name -> {
              if (looks.incrementAndGet() == 3) { // there is one, it serves, and then
                throw new IllegalStateException("of a test");
              }
              return known(name);
            },
            NANOS)) {
      assertThatThrownBy(() -> failing.open("m", () -> {}).get()).hasRootCauseMessage("of a test");
      assertThat(failing.tapped("m", inputs(TensorData.of(row(1, 1)), 1), sink))
          .as("nobody reads")
          .isSameAs(sink);
    }
  }

  @Test
  void shouldCostNoRequestWhenAModelCannotBeLookedUp() throws Exception {
    AtomicBoolean fails = new AtomicBoolean();
    try (Tee failing =
            new Tee(
                settings(1),
                name -> {
                  if (fails.get()) {
                    throw new OutOfMemoryError("of a test");
                  }
                  return known(name);
                },
                NANOS);
        BatchReader reader = failing.open("m", () -> {}).get().reader()) {
      fails.set(true);
      List<InputTensor> any = inputs(TensorData.of(row(1, 1)), 1);
      assertThat(failing.tapped("m", any, sink)).isSameAs(sink);
      assertThat(failing.tapped("wide", any, sink)).as("of another model").isSameAs(sink);
      fails.set(false);
      assertThat(failing.figures().getFirst().counts().dropped(Drop.FAILED)).isEqualTo(1);
      assertThat(failing.tapped("m", any, sink)).isNotSameAs(sink);
      assertThat(reader.next()).isNull();
    }
  }

  @Test
  void shouldTellAReaderAgainThatCouldNotBeTold() throws Exception {
    AtomicBoolean fails = new AtomicBoolean();
    AtomicInteger woken = new AtomicInteger();
    Runnable wake =
        () -> {
          if (fails.get()) {
            throw new OutOfMemoryError("of a test");
          }
          woken.incrementAndGet();
        };
    try (BatchReader reader = tee.open("m", wake).get().reader()) {
      int before = woken.get();
      fails.set(true);
      ask(1);
      ask(2);
      assertThat(counts("m").dropped()).isZero();
      assertThat(told).hasSize(4);
      assertThat(woken).hasValue(before);
      fails.set(false);
      await(() -> woken.get() > before);
      try (Batch batch = Objects.requireNonNull(reader.next())) {
        assertThat(at(batch, 0, 1, 1)).isEqualTo(2);
      }
    }
  }

  private Optional<ModelStatus> known(String name) {
    return Optional.ofNullable(models.get(name));
  }
}
