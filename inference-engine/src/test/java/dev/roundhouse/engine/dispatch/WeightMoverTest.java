package dev.roundhouse.engine.dispatch;

import static dev.roundhouse.bundle.model.ServingDefaults.Residency.PINNED_DEVICE;
import static dev.roundhouse.engine.testing.SmallDevice.BYTES;
import static dev.roundhouse.engine.testing.SmallDevice.MILLIS;
import static dev.roundhouse.engine.testing.SmallDevice.SCRATCH;
import static dev.roundhouse.engine.testing.SmallDevice.TENSOR;
import static dev.roundhouse.engine.testing.SmallDevice.answer;
import static dev.roundhouse.engine.testing.SmallDevice.load;
import static dev.roundhouse.engine.testing.SmallDevice.loadThree;
import static dev.roundhouse.engine.testing.SmallDevice.row;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.TurnedEngine;
import dev.roundhouse.engine.TurnedEngine.Beside;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.dispatch.DispatchState.Place;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.Gate;
import dev.roundhouse.engine.testing.HookedDevice.Call;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.SmallDevice;
import dev.roundhouse.engine.testing.TestEngine;
import dev.roundhouse.engine.testing.TestImage;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Which weights are brought to the device beside which, and what becomes of those that are not. */
@Timeout(30)
class WeightMoverTest {
  private static final long MILLISECOND_FOR_ONE = 1_000L * BYTES;

  /** Of a model that is not brought in one go. */
  private static final int TENSORS = 100;

  private static final int NUMBERS = 1000;

  // --- how many at a time

  @Test
  void shouldCountTheTimeOnTheLinkOnceForLoadsBesideEachOther() {
    TestEngine engine = SmallDevice.engine(Long.MAX_VALUE, 0, MILLISECOND_FOR_ONE);
    loadThree(engine, BYTES);
    takeAllAway(engine);
    long before = engine.engine().reports().linkNanos();
    ask(engine, "a");
    ask(engine, "b");
    engine.run();
    assertThat(engine.engine().reports().linkNanos() - before)
        .as("to the microsecond")
        .isBetween(2 * MILLIS, 2 * MILLIS + 1000);
  }

  @Test
  void shouldBringTwoAtATimeAndMuchSmallerOnesBesideThem() {
    TestEngine engine = SmallDevice.engine(Long.MAX_VALUE, 0, MILLISECOND_FOR_ONE);
    loadThree(engine, BYTES);
    load(engine, "quarter", 7, BYTES / 4);
    load(engine, "eighth", 11, BYTES / 8);
    load(engine, "tiny", 13, BYTES / 64);
    load(engine, "tiny2", 17, BYTES / 64);
    load(engine, "dust", 19, BYTES / 512);
    takeAllAway(engine);
    Submission first = ask(engine, "a");
    ask(engine, "b");
    ask(engine, "c");
    assertPlace(engine, "a", Place.LOADING);
    assertPlace(engine, "b", Place.LOADING);
    assertPlace(engine, "c", Place.ABSENT);
    engine.run();
    assertThat(answer(engine, first)).isEqualTo(2);
    takeAllAway(engine);
    ask(engine, "a");
    ask(engine, "b");
    ask(engine, "quarter");
    assertPlace(engine, "quarter", Place.ABSENT);
    engine.run();
    takeAllAway(engine);
    ask(engine, "a");
    ask(engine, "b");
    ask(engine, "eighth");
    assertPlace(engine, "eighth", Place.LOADING);
    engine.run();
    takeAllAway(engine);
    ask(engine, "a");
    ask(engine, "b");
    ask(engine, "eighth");
    ask(engine, "tiny");
    assertPlace(engine, "tiny", Place.LOADING);
    ask(engine, "tiny2");
    assertPlace(engine, "tiny2", Place.ABSENT);
    ask(engine, "dust");
    assertPlace(engine, "dust", Place.ABSENT); // four at a time, however small
    engine.run();
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  // --- what is told and counted

  @Test
  void shouldCountLoadsAndSayWhenAModelWasUsed() {
    TestEngine engine = SmallDevice.engine(BYTES + SCRATCH, 0, MILLISECOND_FOR_ONE);
    load(engine, "a", 2, BYTES);
    load(engine, "b", 3, BYTES);
    long before = engine.counters("a").get(Metric.WEIGHT_LOAD);
    Submission call = engine.submit("a", row(1));
    engine.run();
    assertThat(answer(engine, call)).isEqualTo(2);
    assertThat(engine.counters("a").get(Metric.WEIGHT_LOAD) - before).isEqualTo(MILLIS);
    engine.clock().advance(70_000);
    assertThat(engine.lane("a").weights().sinceUsedNanos())
        .as("since its run began, and the row had crossed the link")
        .isBetween(70_000L, 70_100L);
    engine.assertNothingLeaks();
  }

  @Test
  void shouldSayThatAModelWasNeverUsedWhereNothingIsKept() {
    TestEngine engine = SmallDevice.engine(Long.MAX_VALUE, 0, 0);
    load(engine, "a", 2, BYTES);
    engine.clock().advance(70_000);
    assertThat(engine.lane("a").weights().sinceUsedNanos()).isNegative();
    engine.assertNothingLeaks();
  }

  // --- what goes wrong

  @Test
  void shouldRefuseAtOnceWhenNothingCanLeaveForALoad() {
    TestEngine engine = SmallDevice.engine(BYTES + SCRATCH, 0, 0);
    load(engine, "a", 2, BYTES);
    load(engine, "b", 3, BYTES);
    AtomicInteger uploads = new AtomicInteger();
    engine.hook(
        (call, of) -> {
          if (call == Call.UPLOAD && of.contains(TENSOR)) {
            uploads.incrementAndGet();
            throw new DeviceException(DeviceException.Code.OUT_OF_MEMORY, "no room");
          }
        });
    Submission call = engine.submit("a", row(1));
    engine.run();
    assertThat(engine.outcome(call))
        .isInstanceOfSatisfying(
            Outcome.Failed.class,
            failed -> assertThat(failed.status()).isEqualTo(Status.RESOURCE_EXHAUSTED));
    assertThat(uploads).as("\"b\" had left already").hasValue(1);
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  @Test
  void shouldNotKeepAModelPinnedThatCannotBeBrought() {
    TestEngine engine = SmallDevice.engine(BYTES + SCRATCH, 0, 0);
    load(engine, "a", 2, BYTES);
    load(engine, "b", 3, BYTES);
    failWeights(engine, new IllegalStateException("made by a test"));
    CompletableFuture<Void> pinned = engine.engine().admin().setResidency("a", PINNED_DEVICE);
    engine.run();
    assertThat(pinned).isCompletedExceptionally();
    assertThat(engine.state().weights().pinnedBytes()).isZero();
    engine.hook((call, of) -> {});
    Submission call = engine.submit("b", row(1));
    engine.run();
    assertThat(answer(engine, call)).isEqualTo(3);
    engine.assertNothingLeaks();
  }

  @Test
  void shouldRefuseAModelWhoseWeightsCannotBeBroughtAndServeTheOthers() {
    TestEngine engine = SmallDevice.engine(BYTES + SCRATCH, 0, 0);
    load(engine, "a", 2, BYTES);
    failWeights(engine, new IllegalStateException("made by a test"));
    ModelStatus refused = engine.engine().admin().load(TestImage.scaled("b", 3, BYTES)).join();
    assertThat(refused.state()).isEqualTo(ModelState.FAILED);
    assertThat(refused.reason()).contains("made by a test");
    assertThat(engine.state().models()).hasSize(1);
    engine.hook((call, of) -> {});
    Submission call = engine.submit("a", row(1));
    engine.run();
    assertThat(answer(engine, call)).isEqualTo(2);
    load(engine, "b", 3, BYTES);
    engine.assertNothingLeaks();
  }

  @Test
  void shouldEndTheLoopWhenTheDeviceIsLostInALoad() {
    TestEngine engine = SmallDevice.engine(BYTES + SCRATCH, 0, 0);
    load(engine, "a", 2, BYTES);
    load(engine, "b", 3, BYTES);
    failWeights(engine, new DeviceException(DeviceException.Code.DEVICE_LOST, "made by a test"));
    engine.submit("a", row(1));
    assertThatThrownBy(engine::run)
        .isInstanceOf(DeviceException.class)
        .hasMessageContaining("made by a test");
  }

  /** What follows is armed when the first piece is found to have failed. */
  @Test
  void shouldRunThePiecesOfARequestInOrderWhenOneIsRunAgain() {
    TestEngine engine = SmallDevice.engine(3 * BYTES + SCRATCH, MILLIS, 0);
    loadThree(engine, BYTES);
    AtomicInteger failures = new AtomicInteger(1);
    engine.hook(
        (call, of) -> {
          if (call == Call.AWAIT && failures.getAndDecrement() > 0) {
            throw new DeviceException(DeviceException.Code.OUT_OF_MEMORY, "no room");
          }
        });
    Submission large = engine.submit("c", Floats.input("x", new long[] {3, 2}, 1, 2, 3, 4, 5, 6));
    engine.step();
    engine.clock().sleepUntil(engine.nextMomentNanos());
    assertThat(engine.step()).as("the second is armed").isEqualTo(1);
    engine.run();
    assertThat(Floats.of(engine.completed(large).outputs().getFirst()))
        .containsExactly(5, 10, 15, 20, 25, 30);
    assertThat(failures).hasNegativeValue();
    assertThat(engine.counters("a").get(Metric.WEIGHT_EVICTIONS)).isEqualTo(1);
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  // --- the end

  @Test
  void shouldGiveUpWhatTheOperatorAskedForWhenItStops() {
    TestEngine engine = SmallDevice.engine(BYTES + SCRATCH, MILLIS, MILLISECOND_FOR_ONE);
    load(engine, "a", 2, BYTES);
    load(engine, "b", 3, BYTES);
    CompletableFuture<Void> pinned = engine.engine().admin().setResidency("a", PINNED_DEVICE);
    engine.step();
    assertPlace(engine, "a", Place.LOADING);
    assertThat(pinned).isNotDone();
    engine.assertNothingLeaks();
    assertThat(pinned).isCompletedExceptionally();
  }

  @Test
  void shouldSayThatWeightsHaveComeAndFreeThemWhenItStopsThen() {
    TurnedEngine engine = beside();
    CompletableFuture<ModelStatus> load = engine.begin(of -> of.load(TestImage.scaled("a", 2, 64)));
    DispatchLoop loop = engine.proxy().loop();
    AtomicInteger woken = new AtomicInteger();
    engine.proxy().wakeBy(woken::incrementAndGet);
    engine.turn();
    LiveEngine.await("they are there", loop::hasWorkNow);
    assertThat(woken.get()).isPositive();
    assertThat(loop.hasWork()).isTrue();
    engine.close();
    assertThat(LiveEngine.get(load).state()).isEqualTo(ModelState.FAILED);
  }

  @Test
  void shouldGiveUpModelsThatLeaveWhenTheDeviceHangs() {
    TurnedEngine engine = beside();
    Gate gate = new Gate();
    engine.load(of -> of.load(TestImage.scaled("a", 2, 64)));
    engine.hook(
        (call, of) -> {
          if (call == Call.UPLOAD) {
            gate.pass();
          }
        });
    CompletableFuture<ModelStatus> load = engine.begin(of -> of.load(TestImage.scaled("b", 2, 64)));
    engine.turn();
    LiveEngine.await("its weights are uploaded", gate::isReached);
    CompletableFuture<Void> leaving = engine.engine().admin().unload("a");
    engine.turn();
    assertThat(leaving).as("its weights leave after that").isNotDone();
    assertThat(engine.proxy().loop().hasWork()).isTrue();
    engine.proxy().failStop().request(new IllegalStateException("made by a test"));
    engine.proxy().failStop(new IllegalStateException("made by a test"));
    assertThat(leaving).isCompletedExceptionally();
    assertThat(LiveEngine.get(load).state()).isEqualTo(ModelState.FAILED);
    gate.open();
    engine.stopBy(() -> {});
    engine.close();
  }

  @Test
  void shouldLetGoOfWeightsBesideTheLoop() {
    TurnedEngine engine = beside();
    engine.load(of -> of.load(TestImage.scaled("a", 2, 64)));
    CompletableFuture<Void> gone = engine.engine().admin().unload("a");
    engine.turnUntil("it is gone", gone::isDone);
    assertThat(gone).isCompleted();
    assertThat(engine.engine().reports().residentWeightBytes()).isZero();
    engine.close();
  }

  /** Nobody turns the loop while the weights are on the link. */
  @Test
  void shouldWaitForTheLinkBesideTheLoop() {
    TurnedEngine engine =
        new TurnedEngine(
            SimulatedDeviceOptions.instant(SmallDevice.SCALE)
                .withLinkBytesPerSecond(MILLISECOND_FOR_ONE),
            Beside.WEIGHTS);
    long began = engine.clock().nanoTime();
    CompletableFuture<ModelStatus> load =
        engine.begin(of -> of.load(TestImage.scaled("a", 2, BYTES)));
    engine.turn();
    LiveEngine.await("they are there", engine.proxy().loop()::hasWorkNow);
    assertThat(engine.clock().nanoTime() - began).isEqualTo(MILLIS);
    engine.turnUntil("it is loaded", load::isDone);
    engine.close();
  }

  @Test
  void shouldSleepWhileNoWeightsAreToBeBrought() {
    Set<Thread> before = weightsThreads();
    TurnedEngine engine = beside();
    engine.load(of -> of.load(TestImage.scaled("a", 2, 64)));
    Set<Thread> after = weightsThreads();
    after.removeAll(before);
    assertThat(after).hasSize(1);
    Thread thread = after.iterator().next();
    LiveEngine.await("it sleeps", () -> thread.getState() == Thread.State.WAITING);
    engine.close();
    assertThat(thread.isAlive()).isFalse();
  }

  private static Set<Thread> weightsThreads() {
    Set<Thread> threads = new HashSet<>(Thread.getAllStackTraces().keySet());
    threads.removeIf(each -> !each.getName().equals("weights"));
    return threads;
  }

  /** What has come of them by then is freed: nothing is left on the device. */
  @Test
  void shouldGiveUpALoadThatIsUnderWayWhenItCloses() {
    TurnedEngine engine =
        new TurnedEngine(
            SimulatedDeviceOptions.instant(SmallDevice.SCALE),
            new Fifo(),
            false,
            EngineOptions.builder()
                .residency(SmallDevice.LRU.withPartBytes(NUMBERS * Float.BYTES))
                .build(),
            Beside.WEIGHTS);
    Gate gate = new Gate();
    AtomicInteger uploads = new AtomicInteger();
    engine.hook(
        (call, of) -> {
          if (call == Call.UPLOAD && uploads.incrementAndGet() == 1) {
            gate.pass();
          }
        });
    List<float[]> weights = Collections.nCopies(TENSORS, new float[NUMBERS]);
    CompletableFuture<ModelStatus> load =
        engine.begin(of -> of.load(TestImage.weighted("a", weights)));
    engine.turn();
    LiveEngine.await("weights are uploaded", gate::isReached);
    Thread closing = Thread.ofPlatform().start(engine.proxy()::stop);
    LiveEngine.await("it waits", () -> closing.getState() == Thread.State.WAITING);
    gate.open();
    LiveEngine.await("it has stopped", () -> !closing.isAlive());
    engine.stopBy(() -> {});
    engine.close();
    assertThat(uploads).hasValueLessThan(TENSORS);
    assertThat(LiveEngine.get(load).state()).isEqualTo(ModelState.FAILED);
  }

  private static TurnedEngine beside() {
    return new TurnedEngine(SimulatedDeviceOptions.instant(SmallDevice.SCALE), Beside.WEIGHTS);
  }

  private static Submission ask(TestEngine engine, String model) {
    Submission call = engine.submit(model, row(1));
    engine.step();
    return call;
  }

  private static void assertPlace(TestEngine engine, String model, Place place) {
    assertThat(engine.lane(model).weights().place()).as(model).isEqualTo(place);
  }

  private static void failWeights(TestEngine engine, RuntimeException failure) {
    engine.hook(
        (call, of) -> {
          if (call == Call.UPLOAD && of.contains(TENSOR)) {
            throw failure;
          }
        });
  }

  private static void takeAllAway(TestEngine engine) {
    engine.engine().admin().compact(List.of());
    engine.run();
  }
}
