package dev.roundhouse.gateway.route;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.gateway.fleet.WorkerView;
import dev.roundhouse.transport.forward.CallRouter.Route;
import dev.roundhouse.transport.forward.LostCall;
import dev.roundhouse.transport.forward.LostCall.Fault;
import dev.roundhouse.transport.forward.LostCall.Seen;
import dev.roundhouse.transport.forward.Refusal;
import io.grpc.Status;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Workers that are left alone for a while. */
class EjectionTest {
  private static final List<WorkerView> BOTH = List.of(worker("w0"), worker("w1"));

  private static final Instant NOW = Instant.parse("2026-11-28T00:00:00Z");

  private static final Route ROUTE =
      new Route() {
        @Override
        public SocketAddress address() {
          return InetSocketAddress.createUnresolved("nowhere", 1);
        }

        @Override
        public @Nullable Route other(Status status) {
          return null;
        }

        @Override
        public void ended(Status status) {}
      };

  private final AtomicLong clock = new AtomicLong(7);
  private final Ejection ejection = new Ejection(3, 1000, clock::get, () -> NOW);

  @Test
  void shouldLeaveAWorkerAloneAfterSoManyFailuresInARow() {
    fail("w0", 2);
    ejection.note("w0", Status.OK, ROUTE);
    fail("w0", 2);
    assertThat(asked()).as("not in a row").isEqualTo("w0 w1");
    fail("w0", 1);
    assertThat(asked()).isEqualTo("w1");
    clock.addAndGet(999);
    assertThat(asked()).isEqualTo("w1");
    clock.addAndGet(1);
    assertThat(asked()).isEqualTo("w0 w1");
  }

  @Test
  void shouldWaitTwiceAsLongEachTimeUpToSixteenTimes() {
    for (int i = 0; i < 7; i++) {
      fail("w0", 3);
      fail("w0", 50); // those that were on their way
      long time = 1000L << Math.min(i, 4);
      clock.addAndGet(time - 1);
      assertThat(asked()).isEqualTo("w1");
      clock.addAndGet(1);
      assertThat(asked()).isEqualTo("w0 w1");
    }
    assertThat(ejection.ejections()).isEqualTo(7);
    ejection.note("w0", Status.INVALID_ARGUMENT, ROUTE); // it answers
    fail("w0", 3);
    clock.addAndGet(1000);
    assertThat(asked()).as("from the beginning").isEqualTo("w0 w1");
  }

  @Test
  void shouldAskAllWhenAllAreOut() {
    fail("w0", 3);
    fail("w1", 3);
    assertThat(asked()).isEqualTo("w0 w1");
  }

  @Test
  void shouldSayWhyAWorkerWasLeftAloneEvenWhenItAnswersAgain() {
    assertThat(ejection.report("w0")).isEqualTo(new EjectionReport(false, 0, 0, null));
    fail("w0", 2);
    assertThat(ejection.report("w0")).isEqualTo(new EjectionReport(false, 2, 0, null));
    ejection.note(
        "w0", Status.UNAVAILABLE.withDescription("on fire\nreally " + "x".repeat(600)), ROUTE);
    EjectionReport out = ejection.report("w0");
    assertThat(out.ejected()).isTrue();
    assertThat(out.ejections()).isEqualTo(1);
    EjectionReport.Last last = Objects.requireNonNull(out.last());
    assertThat(last.status()).isEqualTo("UNAVAILABLE");
    assertThat(last.text()).startsWith("on fire\nreally xxx").endsWith("xxx...").hasSize(515);
    assertThat(last.words())
        .startsWith(
            "3 calls in a row could not be answered, the last one with UNAVAILABLE: on fire\n");
    assertThat(last.at()).isEqualTo(NOW);
    assertThat(last.until()).isEqualTo(NOW.plusNanos(1000));
    assertThat(last.untilText()).isEqualTo("2026-11-28T00:00:00Z");
    clock.addAndGet(1000);
    ejection.note("w0", Status.OK, ROUTE);
    assertThat(ejection.report("w0")).isEqualTo(new EjectionReport(false, 0, 1, last));
    fail("w0", 3);
    assertThat(ejection.report("w0").ejections()).isEqualTo(2);
    assertThat(ejection.report("w1").ejections()).isZero();
    ejection.retain(Set.of("w1"));
    assertThat(ejection.report("w0")).isEqualTo(new EjectionReport(false, 0, 0, null));
  }

  @Test
  void shouldNotCutACharacterInTwo() {
    fail("w0", 2);
    ejection.note(
        "w0", Status.UNAVAILABLE.withDescription("x".repeat(511) + "\ud83d\ude42"), ROUTE);
    EjectionReport.Last last = Objects.requireNonNull(ejection.report("w0").last());
    assertThat(last.text()).isEqualTo("x".repeat(511) + "...");
  }

  @Test
  void shouldForgetAWorkerThatIsNoneAnyMore() {
    fail("w0", 3);
    ejection.retain(Set.of("w1"));
    assertThat(asked()).isEqualTo("w0 w1");
  }

  @Test
  void shouldLeaveNobodyAloneWhenItIsOff() {
    Ejection off = new Ejection(0, 1000, clock::get, () -> NOW);
    for (int i = 0; i < 100; i++) {
      off.note("w0", Status.UNAVAILABLE, ROUTE);
    }
    assertThat(off.without(BOTH)).isSameAs(BOTH);
  }

  @Test
  void shouldCountNothingThatTheWorkerHasNotDone() {
    fail("w0", 2);
    ejection.note("w0", Status.CANCELLED, ROUTE);
    ejection.note("w0", Status.DEADLINE_EXCEEDED, ROUTE);
    for (int i = 0; i < 10; i++) {
      ejection.note("w0", lost(Fault.NOBODYS), ROUTE);
      ejection.note("w0", Status.UNAVAILABLE.withCause(Refusal.OF_MODEL), ROUTE);
      ejection.note("w0", Status.UNAVAILABLE.withCause(Refusal.OF_REQUEST), ROUTE);
    }
    assertThat(asked()).isEqualTo("w0 w1");
    ejection.note("w0", lost(Fault.SERVERS), ROUTE);
    assertThat(asked()).as("the third in a row").isEqualTo("w1");
  }

  private static Status lost(Fault fault) {
    return Status.UNAVAILABLE.withCause(new LostCall("lost", Seen.MAYBE, fault));
  }

  private void fail(String worker, int times) {
    for (int i = 0; i < times; i++) {
      ejection.note(worker, Status.UNAVAILABLE, ROUTE);
    }
  }

  private String asked() {
    return String.join(" ", ejection.without(BOTH).stream().map(WorkerView::name).toList());
  }

  private static WorkerView worker(String name) {
    return new WorkerView(name, InetSocketAddress.createUnresolved(name, 1), true, Map.of());
  }
}
