package dev.roundhouse.worker.tee;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.ServingDefaults;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.model.Variant;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.worker.tee.Ring.Cursor;
import dev.roundhouse.worker.tee.Ring.Found;
import dev.roundhouse.worker.tee.TeeCounts.Discard;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A ring whose rows are one number, and the next, as long as they are. */
@Timeout(60)
class RingTest {
  private static final int ROWS = 4;
  private static final int BUFFERS = 3;

  private final TeeMemory account = new TeeMemory(1 << 20);
  private final TeeCounts counts = new TeeCounts();
  private final AtomicLong clock = new AtomicLong();
  private final Ring ring = ring();
  private final Cursor reader = Objects.requireNonNull(ring.attach());

  private static TensorSpec tensor(String name) {
    return new TensorSpec(name, DType.I64, List.of(Axis.BATCH));
  }

  static ModelSpec model(List<TensorSpec> inputs, List<TensorSpec> outputs) {
    return new ModelSpec(
        "m",
        "3",
        ModelSpec.Kind.MODEL,
        "",
        inputs,
        outputs,
        Optional.empty(),
        List.of(1),
        List.of(Variant.SINGLE),
        List.of(),
        ServingDefaults.DEFAULT,
        Map.of());
  }

  private Ring ring() {
    try {
      ModelStatus status =
          ModelStatus.loading("m", "1")
              .ready(model(List.of(tensor("x")), List.of(tensor("y"))), 1, 0);
      TeeSpec spec = TeeSpec.of(status, 1, ROWS);
      assertThat(account.take(spec.batchBytes() * BUFFERS)).isTrue();
      RingMemory memory = new RingMemory(spec, BUFFERS, account, Runnable::run);
      return new Ring(spec, BUFFERS, memory, counts, clock::get);
    } catch (NotTeedException e) {
      throw new AssertionError(e);
    }
  }

  @AfterEach
  void shouldCountEveryRowAndFreeAllWhenItIsOver() {
    assertIdentity();
    ring.discardAll();
    assertThat(ring.stored()).isZero();
    assertIdentity();
    assertThat(account.held()).isZero();
    assertThat(ring.reserve(1)).isEqualTo(Ring.RETIRED);
    assertThat(ring.attach()).isNull();
  }

  private void assertIdentity() {
    assertThat(counts.taken()).isEqualTo(counts.delivered() + discarded() + ring.stored());
  }

  private long discarded() {
    return Arrays.stream(Discard.values()).mapToLong(counts::discarded).sum();
  }

  /** Writes rows with the numbers from {@code value} on; what {@link Ring#reserve} says. */
  private long put(long value, int rows) {
    long first = ring.reserve(rows);
    if (first >= 0) {
      write(first, value, rows);
      ring.commit(first, rows, true);
    }
    return first;
  }

  private void write(long first, long value, int rows) {
    for (int i = 0; i < rows; i++) {
      for (int tensor = 0; tensor < 2; tensor++) {
        ring.place(tensor, first + i, 8).set(ValueLayout.JAVA_LONG, 0, value + i);
      }
    }
  }

  private static List<Long> values(Batch batch, int tensor) {
    MemorySegment bytes = batch.tensor(tensor);
    List<Long> values = new ArrayList<>();
    for (long at = 0; at < bytes.byteSize(); at += 8) {
      values.add(bytes.get(ValueLayout.JAVA_LONG, at));
    }
    return values;
  }

  @Test
  void shouldGiveBatchesInOrderWithRowsThatCrossThem() {
    put(0, 3);
    assertThat(ring.poll(reader)).isEqualTo(Found.NOTHING_YET);
    assertThat(put(3, 6)).as("of two batches").isEqualTo(3);
    for (int number = 0; number < 2; number++) {
      assertThat(ring.poll(reader)).isEqualTo(Found.BATCH);
      Batch batch = ring.take(reader);
      long first = 4L * number;
      assertThat(batch.firstRow()).isEqualTo(first);
      assertThat(values(batch, 0)).containsExactly(first, first + 1, first + 2, first + 3);
      assertThat(values(batch, 1)).isEqualTo(values(batch, 0));
      batch.close();
      batch.done();
    }
    assertThat(ring.poll(reader)).isEqualTo(Found.NOTHING_YET);
    assertThat(counts.delivered()).isEqualTo(8);
    assertThat(ring.stored()).isEqualTo(1);
  }

  @Test
  void shouldTakeAllOfARequestOrNothing() {
    put(0, 11);
    assertThat(ring.reserve(2)).isEqualTo(Ring.FULL);
    assertThat(put(11, 1)).isEqualTo(11);
    assertThat(ring.reserve(1)).isEqualTo(Ring.FULL);
    ring.poll(reader);
    Batch batch = ring.take(reader);
    assertThat(ring.reserve(1)).as("being read").isEqualTo(Ring.FULL);
    clock.set(30);
    batch.done();
    batch.close();
    assertThat(put(12, 4)).isEqualTo(12);
    assertThat(counts.dwellNanos()).isEqualTo(30);
  }

  @Test
  void shouldWaitForTheSlowestOfItsReaders() {
    put(0, 5);
    Cursor late = Objects.requireNonNull(ring.attach());
    put(5, 7);
    take(reader, 0);
    take(reader, 4);
    assertThat(counts.delivered()).as("the late one never reads the first").isEqualTo(4);
    assertThat(put(12, 5)).isEqualTo(Ring.FULL);
    take(late, 4);
    assertThat(counts.delivered()).isEqualTo(8);
    take(late, 8);
    ring.detach(reader);
    assertThat(counts.delivered()).isEqualTo(12);
  }

  private void take(Cursor cursor, long first) {
    assertThat(ring.poll(cursor)).isEqualTo(Found.BATCH);
    Batch batch = ring.take(cursor);
    assertThat(batch.firstRow()).isEqualTo(first);
    assertThat(values(batch, 0)).first().isEqualTo(first);
    batch.done();
    batch.close();
  }

  @Test
  void shouldPassOverABatchThatCouldNotBeCopied() {
    put(0, 4);
    long spoilt = ring.reserve(2);
    ring.commit(spoilt, 2, false);
    put(6, 6);
    ring.poll(reader);
    Batch first = ring.take(reader);
    assertThat(ring.poll(reader)).isEqualTo(Found.BATCH);
    Batch third = ring.take(reader);
    assertThat(third.firstRow()).isEqualTo(8);
    first.done();
    assertThat(counts.discarded(Discard.SPOILT)).as("with those before it").isEqualTo(4);
    assertThat(ring.stored()).isEqualTo(4);
    third.done();
    first.close();
    third.close();
    assertThat(put(12, 12)).isEqualTo(12);
    take(reader, 12);
  }

  @Test
  void shouldBeReadToItsLastWholeBatchWhenItIsRetired() {
    put(0, 6);
    long late = ring.reserve(3);
    ring.retire();
    assertThat(counts.discarded(Discard.REPLACED)).isEqualTo(1);
    take(reader, 0);
    assertThat(ring.poll(reader)).as("a row is still copied").isEqualTo(Found.NOTHING_YET);
    assertThat(account.held()).isPositive();
    write(late, 6, 3);
    ring.commit(late, 3, true);
    assertThat(ring.poll(reader)).isEqualTo(Found.BATCH);
    Batch last = ring.take(reader);
    last.done();
    assertThat(ring.isOver()).isTrue();
    assertThat(account.held()).as("it is still read").isPositive();
    assertThat(values(last, 1)).containsExactly(4L, 5L, 6L, 7L);
    last.close();
    assertThat(account.held()).isZero();
  }

  @Test
  void shouldKeepItsMemoryWhileRowsAreCopiedWhenItsReaderLeaves() {
    long first = ring.reserve(2);
    ring.detach(reader);
    assertThat(counts.discarded(Discard.UNREAD)).isEqualTo(2);
    write(first, 0, 2);
    assertThat(account.held()).isPositive();
    ring.commit(first, 2, true);
    assertThat(account.held()).isZero();
  }

  /** Every row once, in a batch with those that were reserved beside it, whoever wrote when. */
  @Test
  void shouldLoseAndMixNothingWhenManyThreadsWrite() throws Exception {
    AtomicBoolean writing = new AtomicBoolean(true);
    AtomicLong refused = new AtomicLong();
    List<Thread> writers = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      long base = 1_000_000L * (i + 1);
      Random random = new Random(i);
      writers.add(
          Thread.ofPlatform()
              .start(
                  () -> {
                    for (long value = base; value < base + 20_000; ) {
                      int rows = 1 + random.nextInt(6);
                      if (put(value, rows) == Ring.FULL) {
                        refused.incrementAndGet();
                        Thread.onSpinWait();
                      } else {
                        value += rows;
                      }
                    }
                  }));
    }
    Thread closing =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    for (Thread each : writers) {
                      each.join();
                    }
                  } catch (InterruptedException e) {
                    throw new AssertionError(e);
                  }
                  writing.set(false);
                });
    Set<Long> seen = new HashSet<>();
    boolean last = false;
    while (!last) {
      last = !writing.get();
      while (ring.poll(reader) == Found.BATCH) {
        try (Batch batch = ring.take(reader)) {
          List<Long> inputs = values(batch, 0);
          assertThat(values(batch, 1)).isEqualTo(inputs);
          inputs.forEach(value -> assertThat(seen.add(value)).isTrue());
          batch.done();
        }
      }
    }
    closing.join();
    assertThat(counts.taken()).isBetween(80_000L, 80_020L);
    assertThat(seen).hasSize((int) (counts.taken() - ring.stored()));
    assertThat(ring.stored()).isLessThan(ROWS);
  }
}
