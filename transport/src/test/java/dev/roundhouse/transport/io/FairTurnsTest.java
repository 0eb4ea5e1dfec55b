package dev.roundhouse.transport.io;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class FairTurnsTest {
  private final FairTurns turns = new FairTurns("test-turns", 1);
  private final CountDownLatch begin = new CountDownLatch(1);
  private final List<String> order = Collections.synchronizedList(new ArrayList<>());

  @AfterEach
  void close() {
    turns.close();
  }

  /** Has a job that is there before all others, so that these are there before any begins. */
  private void hold() {
    assertThat(
            turns.submit(
                "holder",
                () -> {
                  await(begin);
                  return true;
                }))
        .isTrue();
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private CountDownLatch submit(String owner, int count) {
    CountDownLatch done = new CountDownLatch(1);
    AtomicInteger left = new AtomicInteger(count);
    turns.submit(
        owner,
        () -> {
          order.add(owner);
          if (left.decrementAndGet() > 0) {
            return false;
          }
          done.countDown();
          return true;
        });
    return done;
  }

  @Test
  void shouldServeWhoAsksForLittleBesideWhoAsksForMuch() throws Exception {
    hold();
    List<CountDownLatch> much = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      much.add(submit("greedy", 100));
    }
    CountDownLatch little = submit("modest", 2);
    begin.countDown();
    assertThat(little.await(10, TimeUnit.SECONDS)).isTrue();
    for (CountDownLatch each : much) {
      assertThat(each.await(10, TimeUnit.SECONDS)).isTrue();
    }
    assertThat(order.lastIndexOf("modest")).isLessThan(5);
  }

  @Test
  void shouldGoOnWhenAJobFails() throws Exception {
    turns.submit(
        "failing",
        () -> {
          throw new AssertionError("on purpose");
        });
    assertThat(submit("next", 1).await(10, TimeUnit.SECONDS)).isTrue();
  }

  @Test
  void shouldTakeNoJobWhenItIsClosed() {
    turns.close();
    assertThat(turns.submit("late", () -> true)).isFalse();
  }
}
