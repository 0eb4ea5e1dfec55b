package dev.roundhouse.gateway.route;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Which replica gets the next request. */
class ReplicaRouterTest {
  private static final long WORK = 1_000;

  private final Map<String, WorkLedger> ledgers = new HashMap<>();

  @ParameterizedTest
  @CsvSource({
    "1.0, 8, 8",
    "0.5, 8, 4",
    "0.5, 5, 3",
    "2, 8, 16",
    "0.01, 8, 1",
    "1, 0, 1",
    "3, -1, 1"
  })
  void shouldFillSoManyItems(double factor, long maxBatch, long quantum) {
    assertThat(ReplicaRouter.quantum(factor, maxBatch)).isEqualTo(quantum);
  }

  @Test
  void shouldGiveOneReplicaAFullBatchThenTheNext() {
    ReplicaRouter router = router(FillMode.RUN, OpeningPolicy.FILL_RR, 4, 3);
    assertThat(workers(router, 14)).isEqualTo("00001111222200");
    assertThat(router.items()).isEqualTo(Map.of("w0", 6L, "w1", 4L, "w2", 4L));
    assertThat(routed(router)).isEqualTo(Map.of("w0", 6L, "w1", 4L, "w2", 4L));
  }

  @Test
  void shouldCountItemsAndNotRequests() {
    ReplicaRouter router = router(FillMode.RUN, OpeningPolicy.FILL_RR, 4, 2);
    assertThat(router.reserve(3, WORK).worker()).isEqualTo("w0");
    assertThat(router.reserve(3, WORK).worker()).as("3 are fewer than 4").isEqualTo("w0");
    assertThat(router.reserve(1, WORK).worker()).isEqualTo("w1");
  }

  @Test
  void shouldBeginAnewWhenNothingIsOnItsWay() {
    ReplicaRouter router = router(FillMode.RUN, OpeningPolicy.FILL_RR, 4, 2);
    for (int i = 0; i < 6; i++) {
      Reservation one = router.reserve(1, WORK);
      assertThat(one.worker()).isEqualTo("w" + i % 2);
      one.close();
    }
    assertThat(ledger("w0").nanos()).isZero();
  }

  @Test
  void shouldLeaveAReplicaThatIsAFullBatchBehind() {
    ReplicaRouter router = router(FillMode.RUN, OpeningPolicy.FILL_RR, 4, 2);
    List<Reservation> open = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      open.add(router.reserve(1, WORK)); // 0000 1111 00
    }
    open.subList(4, 8).forEach(Reservation::close); // those of w1
    assertThat(router.reserve(1, WORK).worker()).as("w0 has a batch more").isEqualTo("w1");
  }

  @Test
  void shouldBeginARunWhereTheWorkerHasLeastToDo() {
    ReplicaRouter least = router(FillMode.RUN, OpeningPolicy.FILL_LEAST, 2, 3);
    ledger("w0").add(50);
    ledger("w1").add(10);
    ledger("w2").add(20);
    assertThat(workers(least, 2)).isEqualTo("11");
    ReplicaRouter inTurn = router(FillMode.RUN, OpeningPolicy.FILL_RR, 2, 3);
    assertThat(workers(inTurn, 2)).isEqualTo("00");
  }

  @Test
  void shouldRotateWhenBatchesHaveOneItem() {
    ReplicaRouter router = router(FillMode.RUN, OpeningPolicy.FILL_RR, 1, 3);
    assertThat(workers(router, 7)).isEqualTo("0120120");
  }

  @Test
  void shouldSpreadOverThoseWithTheFewestItems() {
    ReplicaRouter router = router(FillMode.SPREAD, OpeningPolicy.FILL_LEAST, 4, 3);
    router.reserve(5, WORK);
    router.reserve(2, WORK);
    Reservation third = router.reserve(3, WORK);
    assertThat(third.worker()).isEqualTo("w2");
    assertThat(router.reserve(1, WORK).worker()).isEqualTo("w1");
    third.close();
    assertThat(router.reserve(1, WORK).worker()).isEqualTo("w2");
  }

  /**
   * Two calls outstanding, each answered in turn: with 4 to a batch, `inflight` never leaves one.
   */
  @ParameterizedTest
  @CsvSource({"INFLIGHT, 400, 0", "RUN, 200, 200", "SPREAD, 200, 200"})
  void shouldShareAClosedLoopOfTwo(FillMode mode, long first, long second) {
    ReplicaRouter router = router(mode, OpeningPolicy.FILL_LEAST, 4, 2);
    Deque<Reservation> open = new ArrayDeque<>();
    for (int i = 0; i < 400; i++) {
      if (open.size() == 2) {
        open.remove().close();
      }
      open.add(router.reserve(1, WORK));
    }
    assertThat(List.of(routed(router).get("w0"), routed(router).get("w1")))
        .containsExactly(first, second);
  }

  @Test
  void shouldTryTheOthersByWhatIsOnItsWayToThem() {
    ReplicaRouter router = router(FillMode.RUN, OpeningPolicy.FILL_RR, 4, 4);
    workers(router, 4); // w0: a batch
    router.reserve(2, WORK); // w1: 2 items
    Set<String> tried = Set.of("w1");
    assertThat(another(router, tried)).isEqualTo("w2");
    assertThat(another(router, Set.of("w1", "w2"))).isEqualTo("w3");
    assertThat(another(router, Set.of("w1", "w2", "w3"))).isEqualTo("w0");
    assertThat(router.reserveAnother(Set.of("w0", "w1", "w2", "w3"), 1, WORK)).isNull();
  }

  @Test
  void shouldGiveBackOnce() {
    ReplicaRouter router = router(FillMode.RUN, OpeningPolicy.FILL_RR, 4, 1);
    Reservation one = router.reserve(3, WORK);
    router.reserve(2, WORK);
    assertThat(ledger("w0").nanos()).isEqualTo(2 * WORK);
    one.close();
    one.close();
    assertThat(router.items()).isEqualTo(Map.of("w0", 2L));
    assertThat(ledger("w0").nanos()).isEqualTo(WORK);
  }

  @Test
  void shouldRefuseWhatMakesNoSense() {
    assertThatThrownBy(() -> router(FillMode.RUN, OpeningPolicy.FILL_RR, 1, 0))
        .hasMessageContaining("replicas on different workers: []");
    assertThatThrownBy(() -> router(FillMode.RUN, OpeningPolicy.FILL_RR, 0, 1))
        .hasMessage("a batch has 1 item or more, got 0");
  }

  /** Whatever ends in whatever order on whichever thread, nothing is left in the end. */
  @ParameterizedTest
  @EnumSource(FillMode.class)
  void shouldLeaveNothingBehind(FillMode mode) throws Exception {
    ReplicaRouter router = router(mode, OpeningPolicy.FILL_LEAST, 8, 3);
    CountDownLatch done = new CountDownLatch(4);
    for (int thread = 0; thread < 4; thread++) {
      Random random = new Random(thread);
      Thread.ofVirtual()
          .start(
              () -> {
                List<Reservation> open = new ArrayList<>();
                for (int i = 0; i < 5_000; i++) {
                  if (open.size() > random.nextInt(20)) {
                    open.remove(random.nextInt(open.size())).close();
                  } else {
                    open.add(router.reserve(1 + random.nextInt(9), random.nextInt(1_000_000)));
                  }
                }
                open.forEach(Reservation::close);
                done.countDown();
              });
    }
    done.await();
    assertThat(router.items().values()).containsOnly(0L);
    assertThat(ledgers.values().stream().mapToLong(WorkLedger::nanos)).containsOnly(0L);
    assertThat(routed(router).values()).allMatch(routed -> routed > 0);
  }

  @Test
  void shouldGoOnWhereItWasWhenReplicasChange() {
    ReplicaRouter router = router(FillMode.SPREAD, OpeningPolicy.FILL_LEAST, 4, 2);
    Reservation old = router.reserve(3, WORK); // of w0
    ReplicaRouter next = with(router, List.of("w0", "w2"));
    assertThat(next.items()).isEqualTo(Map.of("w0", 3L, "w2", 0L));
    assertThat(routed(next)).isEqualTo(Map.of("w0", 1L, "w2", 0L));
    assertThat(with(next, List.of("w0", "w2"))).as("nothing differs").isSameAs(next);
    ReplicaRouter without = with(next, List.of("w2"));
    assertThat(with(without, List.of("w0")).items()).as("not answered yet").containsEntry("w0", 3L);
    old.close();
    assertThat(next.items()).containsEntry("w0", 0L);
    assertThat(routed(with(with(next, List.of("w2")), List.of("w0"))))
        .as("forgotten once it has answered")
        .containsEntry("w0", 0L);
  }

  @Test
  void shouldReserveWhereItIsTold() {
    ReplicaRouter router = router(FillMode.RUN, OpeningPolicy.FILL_LEAST, 4, 3);
    assertThat(router.reserveLeast(name -> name.equals("w1") ? 1 : 2, 5, WORK).worker())
        .isEqualTo("w1");
    assertThat(router.reserveLeast(name -> 7, 1, WORK).worker()).as("the first").isEqualTo("w0");
    assertThat(Objects.requireNonNull(router.reserveAt("w2", 2, WORK)).worker()).isEqualTo("w2");
    assertThat(router.reserveAt("other", 2, WORK)).isNull();
    assertThat(router.items()).isEqualTo(Map.of("w0", 1L, "w1", 5L, "w2", 2L));
  }

  private ReplicaRouter with(ReplicaRouter router, List<String> workers) {
    return router.with(FillMode.SPREAD, OpeningPolicy.FILL_LEAST, 4, workers, this::ledger);
  }

  private String another(ReplicaRouter router, Set<String> tried) {
    Reservation other = Objects.requireNonNull(router.reserveAnother(tried, 1, WORK));
    other.close();
    return other.worker();
  }

  private ReplicaRouter router(FillMode mode, OpeningPolicy opening, long quantum, int workers) {
    List<String> names = new ArrayList<>();
    for (int i = 0; i < workers; i++) {
      names.add("w" + i);
    }
    return new ReplicaRouter(mode, opening, quantum, names, this::ledger);
  }

  private WorkLedger ledger(String worker) {
    return ledgers.computeIfAbsent(worker, unknown -> new WorkLedger());
  }

  /** The numbers of the workers that so many requests of one item go to. */
  private static String workers(ReplicaRouter router, int requests) {
    StringBuilder workers = new StringBuilder();
    for (int i = 0; i < requests; i++) {
      workers.append(router.reserve(1, WORK).worker().substring(1));
    }
    return workers.toString();
  }

  private static Map<String, Long> routed(ReplicaRouter router) {
    return router.workers().stream()
        .collect(Collectors.toMap(worker -> worker, worker -> router.load(worker).routed()));
  }
}
