package dev.roundhouse.gateway.route;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.gateway.fleet.Fleet;
import dev.roundhouse.gateway.fleet.ModelCost;
import dev.roundhouse.gateway.fleet.ModelView;
import dev.roundhouse.gateway.fleet.WorkerView;
import dev.roundhouse.gateway.placement.Placement;
import dev.roundhouse.platform.telemetry.SpanExport;
import dev.roundhouse.transport.forward.CallRouter.Route;
import io.grpc.Status;
import io.grpc.StatusException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which worker an inference goes to, and which is asked next. */
class ModelRoutesTest {
  private static final Status UNREACHED = Status.UNAVAILABLE.withCause(new ConnectException());

  private static final InetSocketAddress STREAMS =
      InetSocketAddress.createUnresolved("streams", 8003);

  private static final ModelView HOT = new ModelView(true, true, 5_000_000);
  private static final ModelView COLD = new ModelView(true, false, 5_000_000);
  private static final ModelView FAILED = new ModelView(false, false, 0);

  private final AtomicInteger refreshes = new AtomicInteger();
  private final AtomicLong clock = new AtomicLong();
  private final Ejection ejection = new Ejection(3, 1000, clock::get, InstantSource.system());
  private final List<Route> open = new ArrayList<>();
  private Hedging hedging = Hedging.OFF;

  @Test
  void shouldTakeTurns() throws Exception {
    ModelRoutes routes = routes(Mode.ROUND_ROBIN, fleet(3, HOT));
    assertThat(workers(routes, "m", 7)).isEqualTo("0120120");
    assertThat(workers(routes, "other", 2)).as("each model has its own turn").isEqualTo("01");
  }

  @Test
  void shouldTakeTurnsAmongThoseThatServeTheModel() throws Exception {
    Fleet fleet =
        new Fleet(
            List.of(
                worker(0, true, Map.of("m", HOT)),
                worker(1, false, Map.of("m", HOT)),
                worker(2, true, Map.of("m", FAILED)),
                worker(3, true, Map.of("m", HOT))),
            Map.of());
    ModelRoutes routes = routes(Mode.ROUND_ROBIN, fleet);
    assertThat(workers(routes, "m", 4)).isEqualTo("0303");
    assertThat(refreshes).hasValue(0);
  }

  @Test
  void shouldAskWhoeverIsExpectedToBeginFirst() throws Exception {
    Fleet fleet =
        new Fleet(
            List.of(
                worker(0, true, Map.of("m", COLD, "busy", HOT)), worker(1, true, Map.of("m", HOT))),
            Map.of(
                "m", new ModelCost(2e6, 2e6, 8, true), "busy", new ModelCost(9e6, 9e6, 8, true)));
    ModelRoutes routes = routes(Mode.LEAST_OUTSTANDING, fleet);
    // Where the weights are, until 5 ms of work wait there.
    assertThat(workers(routes, "m", 5)).isEqualTo("11101");
    assertThat(routes.ledger("w1").nanos()).isEqualTo(8_000_000);
    assertThat(routes.ledger("w0").nanos()).isEqualTo(2_000_000);
    open.forEach(route -> route.ended(Status.OK));
    assertThat(routes.ledger("w1").nanos()).isZero();
    assertThat(workers(routes, "busy", 1)).isEqualTo("0");
  }

  @Test
  void shouldForgetTheWorkOfAWorkerThatHasGoneOnceNothingCountsOnIt() throws Exception {
    Fleet both = fleet(2, HOT);
    Fleet left = fleet(1, HOT);
    ModelRoutes routes = routes(Mode.LEAST_OUTSTANDING, both);
    assertThat(workers(routes, "m", 2)).isEqualTo("01");
    WorkLedger gone = routes.ledger("w1");
    routes.seen(left);
    assertThat(routes.ledger("w1")).as("a request is under way").isSameAs(gone);
    open.forEach(route -> route.ended(Status.OK));
    routes.seen(left);
    assertThat(routes.ledger("w1")).as("its model may go on with it").isSameAs(gone);
    assertThat(workers(routes, "m", 1)).isEqualTo("0");
    routes.seen(left);
    assertThat(routes.ledger("w1")).isNotSameAs(gone);
    assertThat(routes.ledger("w0").nanos()).as("of one that is there").isPositive();
  }

  @ParameterizedTest
  @EnumSource(WorkBasis.class)
  void shouldCountWorkAsItIsTold(WorkBasis basis) throws Exception {
    Fleet fleet =
        new Fleet(
            List.of(worker(0, true, Map.of("m", HOT, "new", HOT, "single", HOT))),
            Map.of(
                "m",
                new ModelCost(100, 700, 8, true),
                "new",
                new ModelCost(Double.NaN, Double.NaN, 8, true),
                "single",
                new ModelCost(100, 700, 8, false)));
    ModelRoutes routes =
        new ModelRoutes(
            new RouteSettings(
                Mode.LEAST_OUTSTANDING, basis, FillMode.RUN, OpeningPolicy.FILL_LEAST, 1, Map.of()),
            refreshes::incrementAndGet,
            ejection,
            hedging,
            RouteListener.NONE,
            SpanExport.OFF,
            false,
            null);
    routes.seen(fleet);
    long expected =
        switch (basis) {
          case COMPUTE -> 300;
          case ITEMS -> 3;
          case REQUESTS -> 700;
        };
    Route one = routes.route(new RequestHead("m", "", "", 3));
    assertThat(routes.ledger("w0").nanos()).isEqualTo(expected);
    Route mean = routes.route(new RequestHead("new", "", "", 3));
    assertThat(routes.ledger("w0").nanos()).as("as the others cost").isEqualTo(2 * expected);
    one.ended(Status.OK);
    mean.ended(Status.CANCELLED);
    Route single = routes.route(new RequestHead("single", "", "", 3));
    assertThat(routes.ledger("w0").nanos())
        .as("its rows are not items")
        .isEqualTo(basis == WorkBasis.REQUESTS ? 700 : expected / 3);
    single.ended(Status.OK);
    assertThat(routes.ledger("w0").nanos()).isZero();
  }

  @Test
  void shouldFillBatchesOfThoseThatTheModelWasPlacedOn() throws Exception {
    Fleet seen = fleet(4, HOT);
    Fleet fleet = new Fleet(seen.workers(), Map.of("m", new ModelCost(1e6, 1e6, 3, true)));
    ModelRoutes routes = routes(Mode.LPT_PACKING, fleet);
    routes.placed(new Placement(Map.of("m", List.of("w1", "w3", "gone")), Map.of()));
    assertThat(workers(routes, "m", 7)).isEqualTo("1113331");
    assertThat(workers(routes, "unplaced", 5))
        .as("nothing is known of it: in turn")
        .isEqualTo("01230");
  }

  @Test
  void shouldKeepASequenceWithItsWorker() throws Exception {
    Fleet fleet = fleet(4, HOT);
    ModelRoutes routes = routes(Mode.ROUND_ROBIN, fleet);
    ModelRoutes another = routes(Mode.LEAST_OUTSTANDING, fleet);
    Map<String, String> homes = new HashMap<>();
    for (int sequence = 0; sequence < 200; sequence++) {
      String home = sequenceWorker(routes, "s" + sequence);
      homes.put("s" + sequence, home);
      assertThat(sequenceWorker(routes, "s" + sequence)).isEqualTo(home);
      assertThat(sequenceWorker(another, "s" + sequence))
          .as("every gateway finds the same")
          .isEqualTo(home);
    }
    assertThat(new TreeSet<>(homes.values())).containsExactly("w0", "w1", "w2", "w3");
    routes.seen(fleet(3, HOT)); // w3 is gone
    homes.forEach(
        (sequence, home) -> {
          if (!home.equals("w3")) {
            assertThat(sequenceWorker(routes, sequence)).isEqualTo(home);
          }
        });
  }

  @Test
  void shouldNotSendAStepOfASequenceElsewhere() throws Exception {
    ModelRoutes routes = routes(Mode.ROUND_ROBIN, fleet(3, HOT));
    Route route = routes.route(new RequestHead("m", "", "s1", 1));
    assertThat(route.other(Status.UNAVAILABLE)).isNull();
    route.ended(Status.UNAVAILABLE);
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void shouldAskEachOtherWorkerOnceWhenOneCannotBeReached(Mode mode) throws Exception {
    ModelRoutes routes = routes(mode, fleet(4, HOT));
    routes.placed(new Placement(Map.of("m", List.of("w1", "w2")), Map.of()));
    Set<String> asked = new TreeSet<>();
    Route route = routes.route(new RequestHead("m", "", "", 1));
    while (route != null) {
      assertThat(asked.add(name(route))).isTrue();
      Route next = route.other(UNREACHED);
      if (next == null) {
        route.ended(UNREACHED);
      }
      route = next;
    }
    assertThat(asked).containsExactly("w0", "w1", "w2", "w3");
    assertThat(IntStream.range(0, 4).mapToLong(i -> routes.ledger("w" + i).nanos()))
        .containsOnly(0L);
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void shouldLetTwoWorkersAtMostBeginWithARequestThatMayBeWhatEndsThem(Mode mode) throws Exception {
    ModelRoutes routes = routes(mode, fleet(4, HOT));
    Route first = routes.route(new RequestHead("m", "", "", 1));
    Route second = Objects.requireNonNull(first.other(Status.UNAVAILABLE));
    Route third = Objects.requireNonNull(second.other(UNREACHED));
    assertThat(Set.of(name(first), name(second), name(third))).hasSize(3);
    assertThat(third.other(Status.UNAVAILABLE)).isNull();
    third.ended(Status.UNAVAILABLE);
    assertThat(IntStream.range(0, 4).mapToLong(i -> routes.ledger("w" + i).nanos()))
        .containsOnly(0L);
  }

  @Test
  void shouldSendACallToOneMoreReplicaAndCountItsWorkThere() throws Exception {
    hedging = new Hedging(1_000, 0, 1);
    ModelRoutes routes = routes(Mode.LPT_PACKING, fleet(4, HOT));
    routes.placed(
        new Placement(Map.of("m", List.of("w1", "w3"), "other", List.of("w2")), Map.of()));
    RouteAttempt alone = routes.route(new RequestHead("other", "", "", 1));
    assertThat(alone.hedgeAfterNanos()).as("it has one replica").isEqualTo(Route.NEVER);
    assertThat(alone.hedge()).isNull();
    alone.ended(Status.OK);
    RouteAttempt step = routes.route(new RequestHead("m", "", "s1", 1));
    assertThat(step.hedgeAfterNanos()).as("of a sequence").isEqualTo(Route.NEVER);
    step.ended(Status.OK);

    RouteAttempt first = routes.route(new RequestHead("m", "", "", 1));
    assertThat(first.hedgeAfterNanos()).isEqualTo(1_000);
    RouteAttempt second = Objects.requireNonNull(first.hedge());
    assertThat(Set.of(first.worker(), second.worker())).containsExactlyInAnyOrder("w1", "w3");
    assertThat(second.hedgeAfterNanos()).isEqualTo(Route.NEVER);
    assertThat(routes.ledger("w1").nanos()).isPositive();
    assertThat(routes.ledger("w3").nanos()).isEqualTo(routes.ledger("w1").nanos());
    second.answering(5_000);
    first.superseded(Status.CANCELLED);
    second.ended(Status.OK);
    assertThat(routes.ledger("w1").nanos()).isZero();
    assertThat(routes.ledger("w3").nanos()).isZero();
    assertThat(hedging.startedEver()).isEqualTo(1);
    assertThat(hedging.wonEver()).isEqualTo(1);
  }

  @Test
  void shouldSendNoMoreCallsTwiceThanTheirShare() throws Exception {
    hedging = new Hedging(1_000, 0, 0.05);
    ModelRoutes routes = routes(Mode.ROUND_ROBIN, fleet(2, HOT));
    for (int i = 0; i < 1_000; i++) {
      RouteAttempt first = routes.route(new RequestHead("m", "", "", 1));
      RouteAttempt second = first.hedge();
      if (second != null) {
        second.superseded(Status.CANCELLED);
      }
      first.ended(Status.OK);
    }
    assertThat(hedging.startedEver()).isEqualTo(50);
    assertThat(hedging.refusedEver()).isEqualTo(950);
    assertThat(hedging.wonEver()).isZero();
  }

  @Test
  void shouldSpendNothingOnASecondWorkerThatThereIsNot() throws Exception {
    hedging = new Hedging(1_000, 0, 1);
    ModelRoutes routes = routes(Mode.ROUND_ROBIN, fleet(2, HOT));
    RouteAttempt first = routes.route(new RequestHead("m", "", "", 1));
    RouteAttempt second = Objects.requireNonNull(first.other(UNREACHED));
    assertThat(second.hedge()).as("it has been sent to both").isNull();
    assertThat(hedging.startedEver()).isZero();
    second.ended(Status.OK);
  }

  @Test
  void shouldLetTwoWorkersAtMostBeginWithARequestThatIsSentTwice() throws Exception {
    hedging = new Hedging(1_000, 0, 1);
    ModelRoutes routes = routes(Mode.ROUND_ROBIN, fleet(4, HOT));
    RouteAttempt first = routes.route(new RequestHead("m", "", "", 1));
    RouteAttempt second = Objects.requireNonNull(first.hedge());
    first.superseded(Status.UNAVAILABLE);
    assertThat(second.other(Status.UNAVAILABLE)).isNull();
    second.ended(Status.UNAVAILABLE);

    RouteAttempt third = routes.route(new RequestHead("m", "", "", 1));
    RouteAttempt down = Objects.requireNonNull(third.hedge());
    down.superseded(UNREACHED);
    RouteAttempt other = Objects.requireNonNull(third.other(Status.UNAVAILABLE), "one has begun");
    assertThat(Set.of(third.worker(), down.worker(), other.worker())).hasSize(3);
    assertThat(other.hedge()).as("a second one might begin by following").isNull();
    other.ended(Status.OK);
    assertThat(IntStream.range(0, 4).mapToLong(i -> routes.ledger("w" + i).nanos()))
        .containsOnly(0L);
  }

  @Test
  void shouldLookAgainWhenAWorkerHasNotTheModelAnyMore() throws Exception {
    ModelRoutes routes = routes(Mode.ROUND_ROBIN, fleet(2, HOT));
    Route first = routes.route(new RequestHead("m", "", "", 1));
    Route second = Objects.requireNonNull(first.other(Status.NOT_FOUND));
    assertThat(name(second)).isEqualTo("w1");
    assertThat(refreshes).hasValue(1);
    assertThat(second.other(Status.NOT_FOUND)).isNull();
    second.ended(Status.NOT_FOUND);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"INVALID_ARGUMENT", "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED", "INTERNAL"})
  void shouldNotAskAnotherForWhatTheRequestIsToBlame(String code) throws Exception {
    ModelRoutes routes = routes(Mode.ROUND_ROBIN, fleet(2, HOT));
    Route route = routes.route(new RequestHead("m", "", "", 1));
    assertThat(route.other(Status.fromCode(Status.Code.valueOf(code)))).isNull();
    route.ended(Status.OK);
  }

  @Test
  void shouldHaveAWorkerSayWhatIsWrongWithAModel() throws Exception {
    Fleet fleet =
        new Fleet(
            List.of(worker(0, true, Map.of("m", HOT)), worker(1, true, Map.of("bad", FAILED))),
            Map.of());
    ModelRoutes routes = routes(Mode.ROUND_ROBIN, fleet);
    assertThat(workers(routes, "bad", 3)).isEqualTo("111");
    assertThat(workers(routes, "unknown", 2)).isEqualTo("00");
    assertThat(refreshes).hasValue(5);
    assertThat(open.getLast().other(Status.NOT_FOUND)).as("nobody else has it").isNull();
  }

  @Test
  void shouldSayThatNobodyIsReady() {
    ModelRoutes routes =
        routes(Mode.ROUND_ROBIN, new Fleet(List.of(worker(0, false, Map.of("m", HOT))), Map.of()));
    assertThatThrownBy(() -> routes.route(new RequestHead("m", "", "", 1)))
        .isInstanceOf(StatusException.class)
        .hasMessage("UNAVAILABLE: no worker is ready");
  }

  private static Fleet mixed(String taking) {
    return new Fleet(
        IntStream.range(0, 4)
            .mapToObj(i -> worker(i, true, Map.of("m", HOT)))
            .map(
                each ->
                    taking.contains(each.name().substring(1))
                        ? new WorkerView(
                            each.name(), each.address(), STREAMS, each.ready(), each.models())
                        : each)
            .toList(),
        Map.of());
  }

  private String streams(ModelRoutes routes, int count) throws StatusException {
    StringBuilder workers = new StringBuilder();
    for (int i = 0; i < count; i++) {
      RouteAttempt route = routes.stream(new RequestHead("m", "", "", 1));
      open.add(route);
      workers.append(route.worker().substring(1));
    }
    return workers.toString();
  }

  @Test
  void shouldTakeTurnsOfStreamsAmongThoseThatTakeThemAndOfCallsAmongAll() throws Exception {
    ModelRoutes routes = routes(Mode.ROUND_ROBIN, mixed("13"));
    StringBuilder calls = new StringBuilder();
    StringBuilder streams = new StringBuilder();
    for (int i = 0; i < 8; i++) {
      calls.append(workers(routes, "m", 1));
      streams.append(streams(routes, 1));
    }
    assertThat(calls.toString()).isEqualTo("01230123");
    assertThat(streams.toString()).isEqualTo("13131313");
    assertThat(routes.load("m", "w0").routed()).isEqualTo(2);
    assertThat(routes.load("m", "w1").routed()).as("calls and streams").isEqualTo(6);
    assertThat(routes.items("m")).containsEntry("w0", 2L).containsEntry("w1", 6L);
    assertThat(routes.ledger("w1").open()).isEqualTo(6);
    open.forEach(route -> route.ended(Status.OK));
    assertThat(routes.items("m")).containsEntry("w0", 0L).containsEntry("w1", 0L);
  }

  @Test
  void shouldAskOfStreamsOnlyThoseThatTakeThem() throws Exception {
    ModelRoutes routes = routes(Mode.ROUND_ROBIN, mixed("02"));
    RouteAttempt first = routes.stream(new RequestHead("m", "", "", 1));
    RouteAttempt second = Objects.requireNonNull(first.other(UNREACHED));
    assertThat(Set.of(first.worker(), second.worker())).containsExactlyInAnyOrder("w0", "w2");
    assertThat(second.other(UNREACHED)).isNull();
    second.ended(UNREACHED);
    routes.seen(mixed(""));
    assertThatThrownBy(() -> routes.stream(new RequestHead("m", "", "", 1)))
        .hasMessageContaining("no worker that is ready takes tensor streams");
  }

  @Test
  void shouldTakeTurnsOfStreamsAndCallsTogetherWhereAllTakeStreams() throws Exception {
    ModelRoutes routes = routes(Mode.ROUND_ROBIN, mixed("0123"));
    assertThat(workers(routes, "m", 2) + streams(routes, 3)).isEqualTo("01230");
  }

  @Test
  void shouldForgetAWorkerThatOnlyStreamsKnewOnceAllTakeStreams() throws Exception {
    ModelRoutes routes = routes(Mode.ROUND_ROBIN, mixed("13"));
    assertThat(streams(routes, 2)).isEqualTo("13");
    WorkLedger gone = routes.ledger("w3");
    Fleet now = new Fleet(mixed("012").workers().subList(0, 3), Map.of());
    routes.seen(now);
    assertThat(routes.load("m", "w3").items()).as("its stream is open").isEqualTo(1);
    assertThat(routes.ledger("w3")).isSameAs(gone);
    open.forEach(route -> route.ended(Status.OK));
    routes.seen(now);
    assertThat(routes.ledger("w3")).isNotSameAs(gone);
  }

  @Test
  void shouldForwardInferenceAlone() {
    ModelRoutes routes = routes(Mode.ROUND_ROBIN, Fleet.EMPTY);
    assertThat(routes.forwards("inference.GRPCInferenceService/ModelInfer")).isTrue();
    assertThat(routes.forwards("inference.GRPCInferenceService/ModelStreamInfer")).isTrue();
    assertThat(routes.forwards("inference.GRPCInferenceService/ModelConfig")).isTrue();
    assertThat(routes.forwards("inference.GRPCInferenceService/ModelReady")).isFalse();
    assertThat(routes.forwards("grpc.health.v1.Health/Check")).isFalse();
  }

  private ModelRoutes routes(Mode mode, Fleet fleet) {
    ModelRoutes routes =
        new ModelRoutes(
            new RouteSettings(
                mode, WorkBasis.COMPUTE, FillMode.RUN, OpeningPolicy.FILL_LEAST, 1, Map.of()),
            refreshes::incrementAndGet,
            ejection,
            hedging,
            RouteListener.NONE,
            SpanExport.OFF,
            false,
            null);
    routes.seen(fleet);
    return routes;
  }

  /** Workers that all serve the models m, other and unplaced. */
  private static Fleet fleet(int workers, ModelView view) {
    return new Fleet(
        IntStream.range(0, workers)
            .mapToObj(i -> worker(i, true, Map.of("m", view, "other", view, "unplaced", view)))
            .toList(),
        Map.of());
  }

  private static WorkerView worker(int number, boolean ready, Map<String, ModelView> models) {
    return new WorkerView(
        "w" + number, InetSocketAddress.createUnresolved("w" + number, 8001), ready, models);
  }

  /** The numbers of the workers that so many requests go to, none of which is answered. */
  private String workers(ModelRoutes routes, String model, int requests) throws StatusException {
    StringBuilder workers = new StringBuilder();
    for (int i = 0; i < requests; i++) {
      Route route = routes.route(new RequestHead(model, "", "", 1));
      open.add(route);
      workers.append(name(route).substring(1));
    }
    return workers.toString();
  }

  private static String sequenceWorker(ModelRoutes routes, String sequence) {
    try {
      Route route = routes.route(new RequestHead("m", "", sequence, 1));
      route.ended(Status.OK);
      return name(route);
    } catch (StatusException e) {
      throw new AssertionError(e);
    }
  }

  private static String name(Route route) {
    return ((InetSocketAddress) route.address()).getHostString();
  }
}
