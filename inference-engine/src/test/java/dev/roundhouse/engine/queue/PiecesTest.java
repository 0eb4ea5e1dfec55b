package dev.roundhouse.engine.queue;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.OutputTensor;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class PiecesTest {
  private final AtomicInteger freed = new AtomicInteger();
  private final AtomicBoolean touched = new AtomicBoolean();
  private final Answer answer =
      new Answer() {
        @Override
        public String modelVersion() {
          return "1";
        }

        @Override
        public List<OutputTensor> outputs() {
          return List.of();
        }

        @Override
        public void free() {
          assertThat(touched).as("it is being filled").isFalse();
          freed.incrementAndGet();
        }

        @Override
        public void close() {
          free();
        }
      };

  @Test
  void shouldFreeWhatWasGatheredWhenTheRequestEndsBetweenItsPieces() {
    Pieces pieces = new Pieces(5);
    assertThat(pieces.enter()).isTrue();
    pieces.begin(answer);
    pieces.ran(2, 3);
    pieces.leave();
    assertThat(pieces.enter()).as("for the second piece").isTrue();
    pieces.ran(20, 30);
    pieces.leave();
    assertThat(pieces.queueNanos()).isEqualTo(5);
    assertThat(pieces.inputNanos()).isEqualTo(22);
    assertThat(pieces.computeNanos()).isEqualTo(33);
    assertThat(freed).hasValue(0);
    pieces.free();
    assertThat(freed).hasValue(1);
    assertThat(pieces.enter()).isFalse();
    pieces.free();
    assertThat(freed).hasValue(1);
  }

  @Test
  void shouldFreeNothingBeforeThereIsSomething() {
    Pieces pieces = new Pieces(0);
    pieces.free();
    assertThat(pieces.enter()).isFalse();
    assertThat(freed).hasValue(0);
  }

  @Test
  void shouldFreeAfterTheCopyWhenTheRequestEndsDuringIt() {
    Pieces pieces = new Pieces(0);
    assertThat(pieces.enter()).isTrue();
    pieces.begin(answer);
    pieces.free();
    pieces.free();
    assertThat(freed).hasValue(0);
    pieces.leave();
    assertThat(freed).hasValue(1);
    assertThat(pieces.enter()).isFalse();
  }

  @Test
  void shouldFreeOnceAndNeverUnderACopyWhenTwoThreadsRace() throws InterruptedException {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    for (int round = 0; round < 5_000; round++) {
      freed.set(0);
      Pieces pieces = new Pieces(0);
      assertThat(pieces.enter()).isTrue();
      pieces.begin(answer);
      pieces.leave();
      int spin = random.nextInt(200);
      CountDownLatch start = new CountDownLatch(1);
      Thread ender =
          Thread.ofVirtual()
              .start(
                  () -> {
                    start.countDown();
                    spin(spin);
                    pieces.free();
                  });
      start.await();
      while (pieces.enter()) {
        touched.set(true);
        spin(20);
        touched.set(false);
        pieces.leave();
      }
      ender.join();
      assertThat(freed).as("seed %d, round %d", seed, round).hasValue(1);
    }
  }

  private static void spin(int turns) {
    for (int i = 0; i < turns; i++) {
      Thread.onSpinWait();
    }
  }
}
