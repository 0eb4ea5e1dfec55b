package dev.roundhouse.engine.observe;

import static dev.roundhouse.engine.observe.TimeHistogramTest.total;
import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.observe.InferenceReading.Runs;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class InferenceTallyTest {
  private static final int BATCHES = 200_000;
  private static final int MOST_ROWS = 33;

  private final InferenceTally tally = InferenceTally.owned();

  @Test
  void shouldHaveCountedNothingBeforeTheFirstBatch() {
    assertThat(tally.read()).isEqualTo(InferenceReading.NOTHING);
  }

  @Test
  void shouldAddUpRequestsAndRunsBySize() {
    count(3, 100, 7, 70, 700, 2);
    count(1, 200, 1, 10, 100, 1);
    count(3, 300, 2, 20, 200, 3);

    InferenceReading reading = tally.read();
    assertThat(reading.requests()).isEqualTo(6);
    assertThat(reading.inputNanos()).isEqualTo(2 * 7 + 1 + 3 * 2);
    assertThat(reading.computeNanos()).isEqualTo(2 * 70 + 10 + 3 * 20);
    assertThat(reading.outputNanos()).isEqualTo(2 * 700 + 100 + 3 * 200);
    assertThat(reading.queueNanos()).isEqualTo(6 * 5);
    assertThat(reading.answerNanos()).isEqualTo(2 * 782 + 116 + 3 * 227);
    assertThat(reading.lastRunNanos()).isEqualTo(300);
    assertThat(reading.runs()).containsOnlyKeys(1, 3);
    assertThat(reading.runs().get(3)).isEqualTo(new Runs(2, 9, 90, 900));
    assertThat(reading.executions()).isEqualTo(3);
    assertThat(reading.rows()).isEqualTo(7);
    assertThat(reading.runNanos()).isEqualTo(100);
    assertThat(total(reading.times().computes())).isEqualTo(3);
    TimeHistogram waits = reading.times().waits();
    assertThat(waits.count(TimeHistogram.bucket(5) - waits.first())).isEqualTo(6);
    assertThat(total(waits)).isEqualTo(6);
    TimeHistogram answers = reading.times().answers();
    assertThat(answers.count(TimeHistogram.bucket(782) - answers.first())).isEqualTo(2);
    assertThat(total(answers)).isEqualTo(6);
  }

  @Test
  void shouldTakeTwoTalliesTogether() {
    count(2, 100, 1, 2, 3, 1);
    InferenceReading one = tally.read();
    InferenceTally other = InferenceTally.owned();
    other.add(5, 50, 1, 1, 1, new InferenceTally.Answered(16));

    InferenceReading both = one.plus(other.read());
    assertThat(both.runs()).containsOnlyKeys(2, 5);
    assertThat(both.lastRunNanos()).isEqualTo(100);
    assertThat(one.plus(one).runs().get(2)).isEqualTo(new Runs(2, 2, 4, 6));
    assertThat(both.plus(InferenceReading.NOTHING)).isEqualTo(both);
  }

  /** Each number is made such that one from before or after a batch would not fit the others. */
  @Test
  @Timeout(60)
  void shouldShowWholeBatchesOnlyWhileTheyAreCounted() {
    long seed = System.nanoTime();
    AtomicBoolean over = new AtomicBoolean();
    List<CompletableFuture<Long>> readers = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      readers.add(CompletableFuture.supplyAsync(() -> readUntil(over), Thread::startVirtualThread));
    }
    SplittableRandom random = new SplittableRandom(seed);
    for (int batch = 1; batch <= BATCHES; batch++) {
      int rows = 1 + random.nextInt(MOST_ROWS);
      count(rows, batch, 2, 3, 5, 1);
    }
    over.set(true);

    for (CompletableFuture<Long> reader : readers) {
      assertThat(reader.join()).as("readings; seed %d", seed).isPositive();
    }
    check(tally.read());
    assertThat(tally.read().requests()).isEqualTo(BATCHES);
  }

  @Test
  @Timeout(60)
  void shouldCountEveryBatchOfAnyNumberOfWriters() {
    InferenceTally shared = InferenceTally.shared();
    int writers = 4;
    List<CompletableFuture<Void>> writing = new ArrayList<>();
    for (int i = 0; i < writers; i++) {
      writing.add(
          CompletableFuture.runAsync(
              () -> {
                for (int batch = 1; batch <= BATCHES / 10; batch++) {
                  InferenceTally.Answered answered = new InferenceTally.Answered(16);
                  answered.add(15, 5, 2, 3, 5);
                  shared.add(1 + batch % MOST_ROWS, 1, 2, 3, 5, answered);
                }
              },
              task -> Thread.ofPlatform().start(task)));
    }
    writing.forEach(CompletableFuture::join);
    InferenceReading reading = shared.read();
    assertThat(reading.requests()).isEqualTo((long) writers * (BATCHES / 10));
    assertThat(reading.executions()).isEqualTo(reading.requests());
    assertThat(reading.answerNanos()).isEqualTo(15L * reading.requests());
    assertThat(total(reading.times().waits())).isEqualTo(reading.requests());
    assertThat(total(reading.times().computes())).isEqualTo(reading.requests());
  }

  private long readUntil(AtomicBoolean over) {
    long readings = 0;
    long seen = 0;
    do {
      InferenceReading reading = tally.read();
      check(reading);
      assertThat(total(reading.times().answers())).isEqualTo(reading.requests());
      assertThat(reading.requests()).isGreaterThanOrEqualTo(seen);
      seen = reading.requests();
      readings++;
    } while (!over.get());
    return readings;
  }

  private static void check(InferenceReading reading) {
    long requests = reading.requests();
    assertThat(reading.executions()).isEqualTo(requests);
    assertThat(reading.inputNanos()).isEqualTo(2 * requests);
    assertThat(reading.computeNanos()).isEqualTo(3 * requests);
    assertThat(reading.outputNanos()).isEqualTo(5 * requests);
    assertThat(reading.queueNanos()).isEqualTo(5 * requests);
    assertThat(reading.answerNanos()).isEqualTo(15 * requests);
    assertThat(reading.lastRunNanos()).isEqualTo(requests == 0 ? InferenceReading.NEVER : requests);
    reading
        .runs()
        .values()
        .forEach(
            runs -> {
              assertThat(runs.inputNanos()).isEqualTo(2 * runs.count());
              assertThat(runs.computeNanos()).isEqualTo(3 * runs.count());
              assertThat(runs.outputNanos()).isEqualTo(5 * runs.count());
            });
  }

  private void count(int rows, long started, long input, long run, long output, int requests) {
    InferenceTally.Answered answered = new InferenceTally.Answered(16);
    for (int i = 0; i < requests; i++) {
      answered.add(5 + input + run + output, 5, input, run, output);
    }
    tally.add(rows, started, input, run, output, answered);
  }
}
