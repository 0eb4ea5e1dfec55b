package dev.roundhouse.engine.queue;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.observe.ModelCounters;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.testing.ReplySink;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RequestRingTest {
  private static final AnswerSink NOBODY = new ReplySink();

  /**
   * Against a plain list: requests come, are taken from the front, put back there, and cancelled.
   */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6})
  void shouldKeepOrderDeadlinesAndSizesWhenRequestsArePutBack(long seed) {
    Random random = new Random(seed);
    RequestRing ring = new RequestRing();
    List<QueuedRequest> expected = new ArrayList<>();
    Deque<QueuedRequest> taken = new ArrayDeque<>();
    for (int step = 0; step < 20_000; step++) {
      // Fills for a while, then empties, so that the ring grows and is let go of.
      boolean filling = step / 500 % 2 == 0;
      switch (random.nextInt(filling ? 8 : 12)) {
        case 0, 1, 2, 3 -> {
          QueuedRequest request = request(random);
          ring.add(request);
          expected.add(request);
          taken.clear(); // what has been taken runs now
        }
        case 4 -> {
          while (!taken.isEmpty()) {
            ring.putBack(taken.peekLast());
            expected.addFirst(taken.removeLast());
          }
        }
        case 5 -> {
          if (!expected.isEmpty()) {
            QueuedRequest cancelled = expected.get(random.nextInt(expected.size()));
            cancelled.end(QueuedRequest.State.QUEUED);
          }
        }
        default -> {
          while (ring.size() > 0 && ring.get(0).isDone()) {
            ring.remove();
          }
          expected.removeIf(QueuedRequest::isDone);
          if (!expected.isEmpty()) {
            assertThat(ring.remove())
                .as("seed %d, step %d", seed, step)
                .isSameAs(expected.getFirst());
            taken.addLast(expected.removeFirst());
          }
        }
      }
      check(ring, expected, seed, step);
    }
  }

  @Test
  void shouldTakeBackMoreThanItHadRoomFor() {
    Random random = new Random(7);
    RequestRing ring = new RequestRing();
    List<QueuedRequest> expected = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      QueuedRequest request = request(random);
      ring.putBack(request);
      expected.addFirst(request);
    }
    check(ring, expected, 7, 100);
  }

  private static void check(RequestRing ring, List<QueuedRequest> expected, long seed, int step) {
    List<QueuedRequest> live = new ArrayList<>();
    boolean single = true;
    for (int i = 0; i < ring.size(); i++) {
      single &= ring.get(i).rows() == 1;
      if (!ring.get(i).isDone()) {
        live.add(ring.get(i));
      }
    }
    expected = expected.stream().filter(request -> !request.isDone()).toList();
    assertThat(live).as("seed %d, step %d", seed, step).isEqualTo(expected);
    assertThat(ring.isOfSingleRows()).as("seed %d, step %d", seed, step).isEqualTo(single);
    assertThat(ring.earliestDeadlineNanos())
        .as("seed %d, step %d", seed, step)
        .isEqualTo(
            expected.stream()
                .mapToLong(QueuedRequest::deadlineNanos)
                .min()
                .orElse(InferenceRequest.NO_DEADLINE));
  }

  private static QueuedRequest request(Random random) {
    long deadline = random.nextBoolean() ? random.nextInt(500) : InferenceRequest.NO_DEADLINE;
    QueuedRequest request =
        new QueuedRequest(
            InferenceRequest.of("model", List.of(), NOBODY).deadlineNanos(deadline).build(),
            each -> false);
    int rows = random.nextInt(50) == 0 ? 2 : 1;
    request.admit(
        0,
        new Admitted(rows, 0, List.of(), 0, 0, null),
        new ModelCounters(),
        0,
        InferenceRequest.NO_DEADLINE,
        0);
    return request;
  }
}
