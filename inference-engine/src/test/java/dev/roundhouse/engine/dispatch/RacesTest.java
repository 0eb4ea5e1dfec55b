package dev.roundhouse.engine.dispatch;

import static dev.roundhouse.engine.testing.LiveEngine.get;
import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.observe.ModelTotals;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.testing.BrittleDiscipline;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.HookedDevice;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TestEngine;
import dev.roundhouse.engine.testing.TestImage;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Many callers against what ends their requests: each is told exactly once, and all is counted. */
@Timeout(120)
class RacesTest {
  private static final int CALLERS = 4;

  @TempDir Path repository;

  private final long seed = System.nanoTime();
  private final BrittleDiscipline discipline = new BrittleDiscipline();
  private final Queue<Call> calls = new ConcurrentLinkedQueue<>();
  private final LiveEngine engine =
      new LiveEngine(EngineOptions.builder().discipline(TestEngine.forDevice(discipline)).build());

  @Test
  void shouldEndEachRequestOnceWhenItIsCancelledWhileItIsTaken() throws InterruptedException {
    load();
    engine.runsTake(30_000);
    callers(1_000, () -> true, true);
    engine.assertWell();
    assertEachEndedOnce();
    ModelTotals totals = engine.engine().reports().counters("m").orElseThrow();
    assertThat(totals.get(Metric.ACCEPTED)).as("seed %d", seed).isEqualTo(calls.size());
    assertThat(totals.get(Metric.COMPLETED)).isEqualTo(count(Outcome.Completed.class));
    assertThat(totals.get(Metric.CANCELLED)).isEqualTo(count(Outcome.Cancelled.class)).isPositive();
    assertThat(totals.waiting()).isZero();
    engine.close();
  }

  @Test
  void shouldAnswerWhatWasAcceptedWhenItDrainsWhileRequestsCome() throws InterruptedException {
    load();
    engine.runsTake(20_000);
    Thread callers = Thread.ofPlatform().start(() -> callers(2_000, () -> true, false));
    letSomeBeAnswered();
    assertThat(engine.engine().drain(Duration.ofSeconds(20))).isTrue();
    long accepted = calls.stream().filter(call -> call.end instanceof Outcome.Completed).count();
    callers.join();
    engine.assertWell();
    assertEachEndedOnce();
    assertThat(count(Outcome.Completed.class))
        .as("seed %d: nothing is accepted later, and what was had ended", seed)
        .isEqualTo(accepted);
    assertThat(count(Outcome.Refused.class)).isEqualTo(calls.size() - accepted).isPositive();
    engine.close();
  }

  @Test
  void shouldEndEveryRequestWhenItClosesWhileRequestsCome() throws InterruptedException {
    load();
    engine.runsTake(20_000);
    Thread callers = Thread.ofPlatform().start(() -> callers(2_000, () -> true, true));
    letSomeBeAnswered();
    engine.close();
    callers.join();
    assertEachEndedOnce();
    assertThat(engine.engine().openRequests()).as("seed %d", seed).isZero();
    assertThat(engine.engine().heldBytes()).isZero();
  }

  @Test
  void shouldEndEveryRequestWhenModelsComeAndGoWhileRequestsCome() throws InterruptedException {
    load();
    AtomicInteger left = new AtomicInteger(1);
    Thread callers = Thread.ofPlatform().start(() -> callers(20_000, () -> left.get() > 0, true));
    for (int cycle = 0; cycle < 40; cycle++) {
      get(engine.engine().admin().unload("m"));
      load();
    }
    left.set(0);
    callers.join();
    engine.assertWell();
    assertEachEndedOnce();
    assertThat(count(Outcome.Completed.class)).as("seed %d", seed).isPositive();
    engine.close();
  }

  @Test
  void shouldEndEveryRequestWhenItFailsWhileRequestsCome() throws InterruptedException {
    load();
    engine.runsTake(20_000);
    Thread callers = Thread.ofPlatform().start(() -> callers(2_000, () -> true, true));
    letSomeBeAnswered();
    discipline.onChoice(
        () -> {
          throw new IllegalStateException("made by a test");
        });
    get(engine.engine().failed());
    callers.join();
    assertEachEndedOnce();
    assertThat(calls)
        .as("seed %d", seed)
        .allSatisfy(call -> assertThat(call.isRightEndOfAFailedEngine()).isTrue());
    assertThat(engine.engine().openRequests()).isZero();
    engine.close();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void shouldEndEveryCommandWhenItClosesOrFailsWhileCommandsCome(boolean fails) {
    engine.close();
    Random random = new Random(seed);
    for (int round = 0; round < 40; round++) {
      LiveEngine ending = new LiveEngine(EngineOptions.builder().build());
      Queue<CompletableFuture<?>> commands = new ConcurrentLinkedQueue<>();
      Thread commander = Thread.ofPlatform().start(() -> command(ending.engine(), commands));
      int some = random.nextInt(300);
      LiveEngine.await("some are on their way", () -> commands.size() >= some);
      if (fails) {
        ending.device().hook(RacesTest::loseDevice);
        LiveEngine.await("the last was sent", () -> !commander.isAlive());
        get(ending.engine().admin().load(TestImage.weighted("last", "1", () -> {})));
        assertThat(ending.engine().isAlive()).isFalse();
      } else {
        ending.close();
        LiveEngine.await("the last was sent", () -> !commander.isAlive());
      }
      LiveEngine.await(
          "each has ended, seed " + seed, () -> commands.stream().allMatch(Future::isDone));
      if (fails) {
        ending.close();
      }
    }
  }

  private static void command(Engine engine, Queue<CompletableFuture<?>> commands) {
    for (int i = 0; i < 200; i++) {
      commands.add(engine.admin().load(TestImage.weighted("m" + i, "1", () -> {})));
      commands.add(engine.reports().scheduler());
    }
  }

  private static void loseDevice(HookedDevice.Call call, String of) {
    if (call == HookedDevice.Call.EXECUTE) {
      throw new DeviceException(DeviceException.Code.DEVICE_LOST, "made by a test");
    }
  }

  private void load() {
    engine.load(TestBundle.doubling(2, 1, 4).write(repository, "m"));
  }

  private void letSomeBeAnswered() {
    LiveEngine.await("some are answered", () -> count(Outcome.Completed.class) > 100);
  }

  private long count(Class<? extends Outcome> kind) {
    return calls.stream().filter(call -> kind.isInstance(call.end)).count();
  }

  private void assertEachEndedOnce() {
    LiveEngine.await("each has ended", () -> calls.stream().allMatch(call -> call.end != null));
    assertThat(calls).as("seed %d", seed).allSatisfy(call -> assertThat(call.ends).hasValue(1));
  }

  private void callers(int each, BooleanSupplier goOn, boolean cancel) {
    List<Thread> threads = new ArrayList<>();
    for (int caller = 0; caller < CALLERS; caller++) {
      Random random = new Random(seed + caller);
      threads.add(Thread.ofPlatform().start(() -> call(random, each, goOn, cancel)));
    }
    for (Thread thread : threads) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }
  }

  private void call(Random random, int count, BooleanSupplier goOn, boolean cancel) {
    Submission last = null;
    for (int i = 0; i < count && goOn.getAsBoolean(); i++) {
      int rows = random.nextInt(8) == 0 ? 9 : 1;
      Call call = new Call();
      calls.add(call);
      Submission submission =
          engine
              .engine()
              .submit(
                  InferenceRequest.of(
                          "m",
                          List.of(Floats.input("x", new long[] {rows, 2}, new float[2 * rows])),
                          call)
                      .build());
      if (cancel && random.nextInt(3) == 0) {
        spin(random.nextInt(2_000));
        submission.cancel();
      }
      if (cancel && last != null && random.nextInt(3) == 0) {
        last.cancel();
      }
      last = submission;
      if (random.nextInt(20) == 0) {
        LiveEngine.await("its answer", () -> call.end != null);
      }
    }
  }

  private static void spin(int turns) {
    for (int i = 0; i < turns; i++) {
      Thread.onSpinWait();
    }
  }

  /** One call, and how often it was told of its end. */
  private static final class Call implements AnswerSink {
    private final AtomicInteger ends = new AtomicInteger();
    private volatile @Nullable Outcome end;

    @Override
    public void onPart(Answer part) {
      part.close();
    }

    @Override
    public void onEnd(Outcome outcome) {
      ends.incrementAndGet();
      end = outcome;
    }

    boolean isRightEndOfAFailedEngine() {
      return switch (end) {
        case Outcome.Completed completed -> true;
        case Outcome.Cancelled cancelled -> true;
        case Outcome.Failed failed -> failed.status() == Status.UNAVAILABLE;
        case Outcome.Shed shed -> shed.status() == Status.UNAVAILABLE;
        case Outcome.Refused refused -> refused.status() == Status.UNAVAILABLE;
        case null -> false;
      };
    }
  }
}
