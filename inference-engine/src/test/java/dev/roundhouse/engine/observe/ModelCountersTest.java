package dev.roundhouse.engine.observe;

import static dev.roundhouse.engine.observe.TimeHistogramTest.total;
import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.thread.OwnerThread;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class ModelCountersTest {
  private final Ledger owner = Ledger.ownedBy(new OwnerThread());

  @Test
  void shouldNeverLetMoreInThanTheLimitWhileOneThreadLetsThemOut() throws InterruptedException {
    int limit = 8;
    int callers = 4;
    int each = 20_000;
    ModelCounters counters = new ModelCounters();
    AtomicInteger inside = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    AtomicInteger entered = new AtomicInteger();
    AtomicInteger callersLeft = new AtomicInteger(callers);
    List<Thread> threads = new ArrayList<>();
    for (int caller = 0; caller < callers; caller++) {
      threads.add(
          Thread.ofPlatform()
              .start(
                  () -> {
                    for (int i = 0; i < each; i++) {
                      if (counters.enter(limit)) {
                        entered.incrementAndGet();
                        most.accumulateAndGet(inside.incrementAndGet(), Math::max);
                      }
                    }
                    callersLeft.decrementAndGet();
                  }));
    }
    // The one thread that counts leaving without an atomic step, as dispatch does.
    while (callersLeft.get() > 0 || inside.get() > 0) {
      if (inside.get() > 0) {
        inside.decrementAndGet();
        owner.leave(counters);
        owner.add(counters, Metric.COMPLETED);
      }
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertThat(most.get()).isLessThanOrEqualTo(limit).isPositive();
    assertThat(counters.get(Metric.ACCEPTED)).isEqualTo(entered.get());
    assertThat(counters.waiting()).isZero();
    assertThat(counters.open()).isZero();
  }

  @Test
  void shouldSumWhatEitherSideCounts() {
    ModelCounters counters = new ModelCounters();
    counters.enter(2);
    counters.enter(2);
    assertThat(counters.enter(2)).isFalse();
    Ledger.SHARED.leave(counters);
    owner.leave(counters);
    Ledger.SHARED.add(counters, Metric.SHED_NO_ROOM);
    owner.add(counters, Metric.SHED_DEADLINE_PASSED);
    assertThat(counters.shed()).isEqualTo(2);
    assertThat(counters.waiting()).isZero();
    assertThat(counters.open()).isZero();
    assertThat(counters.enter(2)).isTrue();
  }

  @Test
  void shouldLetNobodyInOnceItIsClosedAndCloseOnlyWhenNothingIsOpen() {
    ModelCounters counters = new ModelCounters();
    counters.enter(2);
    assertThat(counters.closeIfIdle()).isFalse();
    assertThat(counters.isClosed()).isFalse();
    owner.leave(counters);
    owner.add(counters, Metric.COMPLETED);
    assertThat(counters.closeIfIdle()).isTrue();
    assertThat(counters.closeIfIdle()).isTrue();
    assertThat(counters.isClosed()).isTrue();
    assertThat(counters.enter(2)).isFalse();
    assertThat(counters.get(Metric.ACCEPTED)).isEqualTo(1);
    assertThat(counters.open()).isZero();
    assertThat(counters.waiting()).isZero();
  }

  @Test
  void shouldNeverCloseUnderSomebodyWhoIsIn() throws InterruptedException {
    for (int round = 0; round < 2_000; round++) {
      ModelCounters counters = new ModelCounters();
      AtomicInteger in = new AtomicInteger();
      Thread caller =
          Thread.ofPlatform()
              .start(
                  () -> {
                    while (counters.enter(8)) {
                      in.incrementAndGet();
                      assertThat(counters.isClosed()).isFalse();
                      in.decrementAndGet();
                      Ledger.SHARED.add(counters, Metric.CANCELLED);
                      Ledger.SHARED.leave(counters);
                    }
                  });
      while (!counters.closeIfIdle()) {
        Thread.onSpinWait();
      }
      assertThat(in.get()).isZero();
      caller.join();
      assertThat(counters.open()).isZero();
    }
  }

  @Test
  void shouldHaveAnotherFingerprintWhateverIsCounted() {
    ModelTotals totals = new ModelTotals();
    ModelCounters version = new ModelCounters();
    ModelCounters programs = new ModelCounters();
    totals.add(version, programs);
    Set<Long> seen = new HashSet<>(Set.of(totals.fingerprint()));
    for (ModelCounters counters : List.of(version, programs)) {
      for (Metric metric : Metric.values()) {
        owner.add(counters, metric);
        assertThat(seen.add(totals.fingerprint())).as("owner's %s", metric).isTrue();
        Ledger.SHARED.add(counters, metric);
        assertThat(seen.add(totals.fingerprint())).as("others' %s", metric).isTrue();
      }
      owner.leave(counters);
      assertThat(seen.add(totals.fingerprint())).as("left").isTrue();
    }
    owner.rejoin(programs);
    assertThat(seen.add(totals.fingerprint())).as("joined by the one who had left").isFalse();
    totals.countRefused(Status.NOT_FOUND);
    assertThat(seen.add(totals.fingerprint())).as("refused").isTrue();
    assertThat(seen).contains(totals.fingerprint());
  }

  @Test
  void shouldKeepWhatFreedVersionsCounted() {
    ModelTotals totals = new ModelTotals();
    ModelCounters first = new ModelCounters();
    ModelCounters second = new ModelCounters();
    totals.add(first);
    totals.add(second);
    first.enter(1);
    owner.leave(first);
    owner.add(first, Metric.COMPLETED);
    second.enter(1);
    totals.countRefused(Status.NOT_FOUND);
    InferenceTally.Answered answered = new InferenceTally.Answered(16);
    answered.add(9, 5, 0, 4, 0);
    owner.tally(first).add(2, 1, 0, 4, 0, answered);
    owner.tally(second).add(2, 1, 0, 4, 0, answered);
    for (int freed = 0; freed < 2; freed++) {
      assertThat(totals.get(Metric.ACCEPTED)).isEqualTo(2);
      assertThat(totals.get(Metric.COMPLETED)).isEqualTo(1);
      assertThat(totals.get(Metric.REFUSED_UNAVAILABLE)).isEqualTo(1);
      assertThat(totals.open()).isEqualTo(1);
      assertThat(totals.waiting()).isEqualTo(1);
      assertThat(totals.answered().requests()).isEqualTo(2);
      assertThat(total(totals.answered().times().answers())).isEqualTo(2);
      assertThat(totals.ran().rows()).isEqualTo(4);
      totals.keep(first); // the second time, nothing happens
    }
  }
}
