package dev.roundhouse.transport.forward;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.transport.forward.CallRouter.Route;
import dev.roundhouse.transport.forward.LostCall.Fault;
import dev.roundhouse.transport.forward.LostCall.Seen;
import io.grpc.Status;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Every order of events: one answer, at most two servers at a time, one end for each. */
class AttemptsTest {
  private static final Status UNSEEN =
      Status.UNAVAILABLE.withCause(new LostCall("refused", Seen.NO, Fault.NOBODYS));
  private static final Status GONE =
      Status.UNAVAILABLE.withCause(new LostCall("reset", Seen.MAYBE, Fault.SERVERS));

  /** After so many events of a request all that is left ends. */
  private static final int DEPTH = 7;

  private long now = 1;

  @Test
  void shouldSendTheRequestToAnotherWhenOneCannotAnswer() {
    Request request = new Request();
    request.attempts.begin(request.route("a"));
    request.happens(new Event(What.GONE, 0));
    assertThat(request.asked().name()).isEqualTo("b");
    request.happens(new Event(What.ANSWERS, 0));
    assertThat(request.log)
        .containsExactly("send a", "a other UNAVAILABLE", "send b", "b ended OK");
  }

  @Test
  void shouldAskAServerOnceMoreThatHasNotSeenTheRequest() {
    Request request = new Request();
    request.attempts.begin(request.route("a"));
    request.happens(new Event(What.NOT_SEEN, 0));
    request.happens(new Event(What.NOT_SEEN, 0));
    assertThat(request.log)
        .containsExactly("send a", "send a again", "a other UNAVAILABLE", "send b");
  }

  @Test
  void shouldTellWhoIsNotTheFirstHowLongTheRequestHasBeenHere() {
    Request request = new Request();
    request.attempts.whole();
    now += 500;
    assertThat(request.attempts.spentNanos()).as("nobody was asked").isZero();
    request.attempts.begin(request.route("a"));
    now += 200;
    request.happens(new Event(What.GONE, 0));
    assertThat(request.spent).containsExactly(0L, 710L);
  }

  @Test
  void shouldAskASecondWhenTheFirstTakesLongAndAllOfTheRequestIsHere() {
    Request request = new Request();
    request.attempts.begin(request.route("a"));
    assertThat(request.alarms).isZero();
    request.attempts.whole();
    assertThat(request.alarms).isOne();
    request.attempts.hedgeIsDue();
    request.attempts.hedgeIsDue();
    request.happens(new Event(What.ANSWERS, 1));
    assertThat(request.log)
        .containsExactly(
            "send a", "send c", "a gave way CANCELLED", "leave a", "c answering", "c ended OK");
  }

  /** Only the client can register it again. */
  @Test
  void shouldNotWaitForTheOtherWhenOneDoesNotHaveARegionOfMemory() {
    Request request = new Request();
    request.attempts.begin(request.route("a"));
    request.attempts.whole();
    request.attempts.hedgeIsDue();
    request.said(1, Status.NOT_FOUND.withCause(Refusal.OF_REGION), false);
    assertThat(request.log)
        .containsExactly(
            "send a", "send c", "a gave way CANCELLED", "leave a", "c ended NOT_FOUND");
  }

  @Test
  void shouldWaitForTheFirstWhenTheSecondCannotBeSent() {
    Request request = new Request();
    request.breaksAt = "c";
    request.attempts.begin(request.route("a"));
    request.attempts.whole();
    request.attempts.hedgeIsDue();
    request.happens(new Event(What.REFUSES, 0));
    assertThat(request.log)
        .containsExactly(
            "send a", "send c", "c gave way CANCELLED", "a other UNAVAILABLE", "send b");
  }

  @Test
  void shouldHoldForEveryOrderOfEvents() {
    assertThat(explore(new ArrayList<>())).as("orders").isGreaterThan(10_000);
  }

  /** Runs what these events lead to, and all that one more leads to. */
  private int explore(List<Event> events) {
    Request request = new Request();
    request.attempts.begin(request.route("a"));
    for (Event event : events) {
      request.happens(event);
    }
    if (request.over || events.size() == DEPTH) {
      request.end(Status.CANCELLED);
      request.check(events);
      return 1;
    }
    int orders = 0;
    for (Event event : request.possible()) {
      events.add(event);
      orders += explore(events);
      events.removeLast();
    }
    return orders;
  }

  @Test
  void shouldHoldForLongOrdersOfEvents() {
    for (int seed = 0; seed < 20_000; seed++) {
      Random random = new Random(seed);
      Request request = new Request();
      request.others = 8;
      List<Event> events = new ArrayList<>();
      request.attempts.begin(request.route("a"));
      while (!request.over && events.size() < 40) {
        List<Event> possible = request.possible();
        events.add(possible.get(random.nextInt(possible.size())));
        request.happens(events.getLast());
      }
      request.end(Status.CANCELLED);
      request.check(events);
    }
  }

  private enum What {
    WHOLE,
    HEDGE,
    ANSWERS,
    REFUSES,
    REFUSES_THE_REQUEST,
    KEEPS,
    NOT_SEEN,
    GONE,
    /** Of a server that has been left, or has ended the request. */
    LATE,
    FORGOTTEN
  }

  /**
   * @param server of those that are asked
   */
  private record Event(What what, int server) {}

  /** A request whose connections are a list. */
  private final class Request implements Attempts.Sender<Asked> {
    final Attempts<Asked> attempts = new Attempts<>(this, () -> now);
    final List<String> log = new ArrayList<>();
    final List<Long> spent = new ArrayList<>();
    final List<Asked> alive = new ArrayList<>();
    final List<Asked> all = new ArrayList<>();
    final List<Named> routes = new ArrayList<>();
    String breaksAt = "";
    boolean kept = true;
    boolean over;
    boolean whole;
    int others = 1;
    int alarms;

    Named route(String name) {
      Named route = new Named(this, name, name.equals("a") ? 100 : Route.NEVER);
      routes.add(route);
      return route;
    }

    Asked asked() {
      return Objects.requireNonNull(attempts.asked());
    }

    @Override
    public Asked attempt(Route route, boolean isAgain) {
      return new Asked(this, (Named) route, isAgain);
    }

    @Override
    public void send(Asked attempt) {
      assertThat(attempts.isAnswered()).as("sent after an answer").isFalse();
      assertThat(over).as("sent after the end").isFalse();
      assertThat(canBeSentAgain() || all.isEmpty()).isTrue();
      spent.add(attempts.spentNanos());
      log.add("send " + attempt.name() + (attempt.isAgain ? " again" : ""));
      if (attempt.name().equals(breaksAt)) {
        throw new IllegalStateException("no connection can be made");
      }
      all.add(attempt);
      alive.add(attempt);
      assertThat(alive).as("at a time").hasSizeLessThanOrEqualTo(2);
    }

    @Override
    public boolean canBeSentAgain() {
      return kept;
    }

    @Override
    public @Nullable Route second(Asked first) {
      return whole || alarms > 0 ? route("c") : null;
    }

    @Override
    public void hedgeAfter(long nanos) {
      assertThat(nanos).isEqualTo(100);
      alarms++;
    }

    @Override
    public void hedgeNoMore() {
      alarms = 0;
    }

    List<Event> possible() {
      List<Event> events = new ArrayList<>();
      if (!whole) {
        events.add(new Event(What.WHOLE, 0));
      }
      if (alarms > 0) {
        events.add(new Event(What.HEDGE, 0));
      }
      if (kept) {
        events.add(new Event(What.FORGOTTEN, 0));
      }
      if (all.size() > alive.size()) {
        events.add(new Event(What.LATE, 0));
      }
      for (int i = 0; i < alive.size(); i++) {
        events.add(new Event(What.ANSWERS, i));
        events.add(new Event(What.REFUSES, i));
        events.add(new Event(What.REFUSES_THE_REQUEST, i));
        events.add(new Event(What.KEEPS, i));
        events.add(new Event(What.NOT_SEEN, i));
        events.add(new Event(What.GONE, i));
      }
      return events;
    }

    void happens(Event event) {
      now += 10;
      switch (event.what) {
        case WHOLE -> {
          whole = true;
          attempts.whole();
        }
        case HEDGE -> {
          alarms = 0;
          attempts.hedgeIsDue();
        }
        case FORGOTTEN -> kept = false;
        case ANSWERS -> {
          Asked by = alive.get(event.server);
          assertThat(attempts.answered(by)).isTrue();
          assertThat(asked()).isSameAs(by);
          attempts.answering();
          if (attempts.said(by, Status.OK, false)) {
            alive.remove(by);
            end(Status.OK);
          }
        }
        case REFUSES -> said(event.server, Status.UNAVAILABLE, false);
        case REFUSES_THE_REQUEST -> said(event.server, Status.INVALID_ARGUMENT, false);
        case KEEPS -> said(event.server, Status.UNAVAILABLE, true);
        case NOT_SEEN -> lost(event.server, UNSEEN);
        case GONE -> lost(event.server, GONE);
        case LATE -> {
          Asked by = all.stream().filter(each -> !alive.contains(each)).findFirst().orElseThrow();
          assertThat(attempts.answered(by)).isFalse();
          assertThat(attempts.said(by, Status.OK, false)).isFalse();
          assertThat(attempts.lost(by, GONE)).isFalse();
        }
      }
    }

    private void said(int server, Status status, boolean keeps) {
      Asked by = alive.remove(server);
      if (attempts.said(by, status, keeps)) {
        end(status);
      }
    }

    private void lost(int server, Status status) {
      Asked by = alive.remove(server);
      if (attempts.lost(by, status)) {
        end(status);
      }
    }

    void end(Status status) {
      if (!over) {
        over = true;
        attempts.ended(status);
        attempts.leave();
      }
    }

    void check(List<Event> events) {
      assertThat(alive).as("left alive after %s", events).isEmpty();
      for (Named route : routes) {
        assertThat(route.ends).as("ends of %s after %s: %s", route, events, log).isOne();
      }
      assertThat(routes.stream().filter(route -> route.endedLast).count())
          .as("last routes after %s", events)
          .isOne();
      for (Named route : routes) {
        long times = all.stream().filter(each -> each.route == route).count();
        assertThat(times).as("%s was sent the request", route).isLessThanOrEqualTo(2);
      }
    }
  }

  private static final class Named implements Route {
    private final Request of;
    private final String name;
    private final long hedgeAfter;
    int ends;
    boolean endedLast;

    Named(Request of, String name, long hedgeAfter) {
      this.of = of;
      this.name = name;
      this.hedgeAfter = hedgeAfter;
    }

    @Override
    public SocketAddress address() {
      return InetSocketAddress.createUnresolved(name, 1);
    }

    @Override
    public @Nullable Route other(Status status) {
      of.log.add(name + " other " + status.getCode());
      if (of.others-- <= 0 || status.getCode() != Status.Code.UNAVAILABLE) {
        return null;
      }
      ends++;
      return of.route("b");
    }

    @Override
    public long hedgeAfterNanos() {
      return hedgeAfter;
    }

    @Override
    public void answering(long nanos) {
      assertThat(nanos).isNotNegative();
      of.log.add(name + " answering");
    }

    @Override
    public void superseded(Status status) {
      ends++;
      of.log.add(name + " gave way " + status.getCode());
    }

    @Override
    public void ended(Status status) {
      ends++;
      endedLast = true;
      of.log.add(name + " ended " + status.getCode());
    }

    @Override
    public String toString() {
      return name;
    }
  }

  private static final class Asked implements Attempts.Attempt {
    private final Request of;
    private final Named route;
    private final boolean isAgain;

    Asked(Request of, Named route, boolean isAgain) {
      this.of = of;
      this.route = route;
      this.isAgain = isAgain;
    }

    String name() {
      return route.name;
    }

    @Override
    public Route route() {
      return route;
    }

    @Override
    public boolean isAgain() {
      return isAgain;
    }

    @Override
    public void leave() {
      if (of.alive.remove(this)) {
        of.log.add("leave " + name());
      }
    }
  }
}
