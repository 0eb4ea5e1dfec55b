package dev.roundhouse.engine.queue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.engine.observe.ModelCounters;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.MetaRun;
import dev.roundhouse.engine.testing.ReplySink;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ModelQueueTest {

  @Test
  void shouldPutCommittedRequestsFirstAndKeepTheOrderOfEachKind() {
    ModelQueue queue = new RankedQueue();
    QueuedRequest first = request(null);
    QueuedRequest second = request(null);
    QueuedRequest committed = request(new MetaRun());
    QueuedRequest alsoCommitted = request(new MetaRun());
    List.of(first, committed, second, alsoCommitted).forEach(queue::add);
    assertThat(queue.get(2)).isSameAs(first);
    List<QueuedRequest> order = new ArrayList<>();
    while (!queue.isEmpty()) {
      order.add(queue.remove());
    }
    assertThat(order).containsExactly(committed, alsoCommitted, first, second);
  }

  @Test
  void shouldPutTheVariantOfTheOldestFirstAndKeepEachInOrder() {
    ModelQueue queue = new RankedQueue(3);
    List<QueuedRequest> all = new ArrayList<>();
    int[] variants = {2, 0, 2, 1, 0, 2};
    for (int i = 0; i < variants.length; i++) {
      QueuedRequest request =
          new QueuedRequest(InferenceRequest.of("m", List.of(), NOBODY).build(), each -> false);
      request.admit(
          0,
          new Admitted(1, variants[i], List.of(), 0, 0, null),
          new ModelCounters(),
          0,
          InferenceRequest.NO_DEADLINE,
          100 + i);
      all.add(request);
      queue.add(request);
    }
    List<QueuedRequest> seen = new ArrayList<>();
    for (int i = 0; i < queue.size(); i++) {
      seen.add(queue.get(i));
    }
    assertThat(seen.subList(0, 3)).containsExactly(all.get(0), all.get(2), all.get(5));
    assertThat(seen).containsExactlyInAnyOrderElementsOf(all);
    QueuedRequest front = queue.remove();
    assertThat(queue.get(0)).isSameAs(all.get(1));
    queue.putBack(front);
    assertThat(queue.get(0)).isSameAs(front);
    queue.beginBatch();
    assertThat(List.of(queue.remove(), queue.remove())).containsExactly(front, all.get(2));
    assertThat(queue.get(0)).isSameAs(all.get(5));
    queue.endBatch();
    List<QueuedRequest> order = new ArrayList<>();
    while (!queue.isEmpty()) {
      order.add(queue.remove());
    }
    assertThat(order).containsExactly(all.get(1), all.get(3), all.get(4), all.get(5));
  }

  /** Against a sorted list: levels, calls that run ahead, large ones, and those that are late. */
  @ParameterizedTest
  @ValueSource(longs = {11, 12, 13, 14})
  void shouldKeepEveryRankInOrder(long seed) {
    Random random = new Random(seed);
    ModelQueue queue = new RankedQueue();
    List<List<QueuedRequest>> ranks = new ArrayList<>();
    for (int rank = 0; rank < 9; rank++) {
      ranks.add(new ArrayList<>());
    }
    for (int step = 0; step < 5_000; step++) {
      String at = "seed %d, step %d".formatted(seed, step);
      List<QueuedRequest> all = ranks.stream().flatMap(List::stream).toList();
      switch (random.nextInt(all.isEmpty() ? 1 : 4)) {
        case 0 -> {
          boolean ahead = random.nextInt(5) == 0;
          int level = random.nextInt(5);
          QueuedRequest request =
              request(
                  ahead ? new MetaRun() : null,
                  random.nextInt(1_000),
                  level,
                  random.nextInt(20) == 0 ? 3 : 1);
          queue.add(request);
          ranks.get(ahead ? 0 : 1 + 2 * Math.max(0, level - 1)).add(request);
        }
        case 1 -> {
          QueuedRequest front = all.getFirst();
          assertThat(queue.remove()).as(at).isSameAs(front);
          ranks.forEach(rank -> rank.remove(front));
          if (random.nextInt(3) == 0) {
            queue.putBack(front);
            rankOf(ranks, front).addFirst(front);
          }
        }
        case 2 -> {
          QueuedRequest front = all.getFirst();
          if (!front.isCommitted()) {
            ranks.forEach(rank -> rank.remove(front));
            queue.delayFront();
            assertThat(front.isDelayed()).isTrue();
            assertThat(front.queueDeadlineNanos()).isEqualTo(InferenceRequest.NO_DEADLINE);
            rankOf(ranks, front).add(front);
          }
        }
        default -> {
          int position = random.nextInt(all.size());
          assertThat(queue.get(position)).as(at).isSameAs(all.get(position));
        }
      }
      all = ranks.stream().flatMap(List::stream).toList();
      assertThat(queue.size()).as(at).isEqualTo(all.size());
      assertThat(queue.isEmpty()).as(at).isEqualTo(all.isEmpty());
      boolean onlySingle =
          all.stream().allMatch(each -> each.rows() == 1) && all.equals(ranks.get(1));
      if (queue.hasOnlySingleRows()) {
        assertThat(onlySingle).as(at).isTrue();
      } else {
        assertThat(onlySingle && !all.isEmpty()).as(at).isFalse();
      }
      assertThat(queue.earliestDeadlineNanos())
          .as(at)
          .isEqualTo(
              all.stream()
                  .filter(each -> !each.isCommitted())
                  .mapToLong(QueuedRequest::deadlineNanos)
                  .min()
                  .orElse(InferenceRequest.NO_DEADLINE));
    }
    int size = queue.size();
    assertThatThrownBy(() -> queue.get(size))
        .hasMessage("position %d of %d waiting".formatted(size, size));
  }

  private static List<QueuedRequest> rankOf(
      List<List<QueuedRequest>> ranks, QueuedRequest request) {
    int level = Math.max(0, request.level() - 1);
    return ranks.get(request.isCommitted() ? 0 : 1 + 2 * level + (request.isDelayed() ? 1 : 0));
  }

  @Test
  void shouldNotGrowForRequestsThatAreOver() {
    RequestRing ring = new RequestRing();
    QueuedRequest kept = request(null);
    ring.add(kept);
    for (int i = 0; i < 100_000; i++) {
      QueuedRequest cancelled = request(null);
      ring.add(cancelled);
      cancelled.end(QueuedRequest.State.QUEUED);
    }
    assertThat(ring.size()).as("places taken, one of them by a live request").isLessThan(10);
    assertThat(ring.get(0)).isSameAs(kept);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void shouldKeepEveryLiveRequestInOrderAndKnowTheEarliestDeadline(long seed) {
    Random random = new Random(seed);
    ModelQueue queue = new RankedQueue();
    ArrayDeque<QueuedRequest> expected = new ArrayDeque<>();
    for (int i = 0; i < 5_000; i++) {
      switch (random.nextInt(5)) {
        case 0, 1, 2 -> {
          long deadline =
              random.nextBoolean() ? random.nextInt(1_000) : InferenceRequest.NO_DEADLINE;
          QueuedRequest request = request(null, deadline);
          queue.add(request);
          expected.add(request);
        }
        case 3 -> {
          if (!expected.isEmpty()) {
            List<QueuedRequest> all = List.copyOf(expected);
            QueuedRequest cancelled = all.get(random.nextInt(all.size()));
            cancelled.end(QueuedRequest.State.QUEUED);
            expected.remove(cancelled);
          }
        }
        default -> {
          queue.dropEnded();
          if (!expected.isEmpty()) {
            assertThat(queue.remove()).as("seed %d, step %d", seed, i).isSameAs(expected.remove());
          }
        }
      }
      long earliest =
          expected.stream()
              .mapToLong(QueuedRequest::deadlineNanos)
              .min()
              .orElse(InferenceRequest.NO_DEADLINE);
      assertThat(queue.earliestDeadlineNanos()).as("seed %d, step %d", seed, i).isEqualTo(earliest);
    }
  }

  private static QueuedRequest request(@Nullable MetaRun run) {
    return request(run, InferenceRequest.NO_DEADLINE);
  }

  private static QueuedRequest request(@Nullable MetaRun run, long deadlineNanos) {
    return request(run, deadlineNanos, 0, 1);
  }

  private static QueuedRequest request(
      @Nullable MetaRun run, long deadlineNanos, int level, int rows) {
    QueuedRequest request =
        new QueuedRequest(
            InferenceRequest.of("model", List.of(), NOBODY)
                .deadlineNanos(deadlineNanos)
                .run(run)
                .build(),
            each -> false);
    request.commit();
    request.admit(
        0,
        new Admitted(rows, 0, List.of(), 0, 0, null),
        new ModelCounters(),
        level,
        InferenceRequest.NO_DEADLINE,
        0);
    return request;
  }

  private static final AnswerSink NOBODY = new ReplySink();
}
