package dev.roundhouse.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.VersionPolicy;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.ForwardingDevice;
import dev.roundhouse.engine.device.ProgramSource;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.observe.ModelTotals;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.ReplySink;
import dev.roundhouse.engine.testing.ReplySink.Reply;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.time.NanoClock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Models that come and go under callers on other threads. */
@Timeout(120)
class ModelLifeThreadsTest {
  private static final int CALLERS = 3;

  @TempDir Path repository;

  private final SimulatedDevice device =
      new SimulatedDevice(SimulatedDeviceOptions.instant(TestBundle.DOUBLE), NanoClock.SYSTEM);

  @Test
  void shouldFailNoCallWhenAModelIsReplacedByABrokenOneAndThenByAGoodOne() throws Exception {
    try (Engine engine = Engine.open(EngineOptions.DEFAULT, device)) {
      Path folder = TestBundle.doubling(2, 1, 4).write(repository, "m");
      byte[] sound = Files.readAllBytes(folder.resolve("model.b1.mlir"));
      engine.admin().load(folder).get(30, TimeUnit.SECONDS);
      try (Callers callers = new Callers(engine, true)) {
        for (int round = 0; round < 20; round++) {
          Files.writeString(folder.resolve("model.b1.mlir"), "not a program");
          ModelStatus failed = engine.admin().load(folder).get(30, TimeUnit.SECONDS);
          assertThat(failed.state()).isEqualTo(ModelState.FAILED);
          ModelStatus row = engine.reports().index().getFirst();
          assertThat(row.state()).isEqualTo(ModelState.READY);
          assertThat(row.reason()).contains("still serves", "model.b1.mlir");
          callers.awaitCalls(50);
          Files.write(folder.resolve("model.b1.mlir"), sound);
          assertThat(engine.admin().load(folder).get(30, TimeUnit.SECONDS).isReady()).isTrue();
          assertThat(engine.reports().index().getFirst().reason()).isEmpty();
          callers.awaitCalls(50);
        }
        assertThat(callers.wrong()).isEmpty();
      }
      assertCountsAddUp(engine);
    }
    assertThat(device.openHandles()).isZero();
  }

  @Test
  void shouldEndEveryCallOnceWhenItsModelComesAndGoes() throws Exception {
    Path folder = TestBundle.doubling(2, 1).write(repository, "m");
    try (Engine engine = Engine.open(EngineOptions.DEFAULT, device)) {
      engine.admin().load(folder).get(30, TimeUnit.SECONDS);
      try (Callers callers = new Callers(engine, false)) {
        for (int cycle = 0; cycle < 300; cycle++) {
          engine.admin().unload("m").get(30, TimeUnit.SECONDS);
          assertThat(device.openHandles()).isZero();
          assertThat(engine.admin().load(folder).get(30, TimeUnit.SECONDS).isReady()).isTrue();
          callers.awaitCalls(5);
        }
        assertThat(callers.wrong()).isEmpty();
      }
      assertCountsAddUp(engine);
    }
    assertThat(device.openHandles()).isZero();
  }

  @Test
  void shouldComeBackToTheBaselineAfterAThousandCycles() throws Exception {
    Path folder = TestBundle.doubling(2, 1).write(repository, "m");
    try (Engine engine = Engine.open(EngineOptions.DEFAULT, device)) {
      engine.admin().load(folder).get(30, TimeUnit.SECONDS);
      engine.admin().unload("m").get(30, TimeUnit.SECONDS);
      int threads = Thread.getAllStackTraces().size();
      for (int cycle = 0; cycle < 1_000; cycle++) {
        assertThat(engine.admin().load(folder).get(30, TimeUnit.SECONDS).isReady()).isTrue();
        engine.admin().unload("m").get(30, TimeUnit.SECONDS);
      }
      assertThat(device.openHandles()).isZero();
      assertThat(device.memory().inUse()).hasValue(0);
      assertThat(engine.reports().residentWeightBytes()).isZero();
      assertThat(Thread.getAllStackTraces().size()).isLessThanOrEqualTo(threads);
      assertThat(engine.reports().scheduler().get(10, TimeUnit.SECONDS).dispatch().models())
          .isEmpty();
    }
  }

  @Test
  void shouldStopWithinItsBudgetWhenACompileHangs() throws Exception {
    CountDownLatch compiling = new CountDownLatch(1);
    CountDownLatch hung = new CountDownLatch(1);
    ForwardingDevice hanging =
        new ForwardingDevice(device) {
          @Override
          public DeviceProgram compile(ProgramSource source) {
            compiling.countDown();
            awaitUninterruptibly(hung);
            return super.compile(source);
          }
        };
    Engine engine = Engine.open(EngineOptions.DEFAULT, hanging);
    CompletableFuture<ModelStatus> load =
        engine.admin().load(TestBundle.doubling(2, 1).write(repository, "m"));
    assertThat(compiling.await(10, TimeUnit.SECONDS)).isTrue();
    long began = System.nanoTime();
    assertThat(engine.close(Duration.ofMillis(50))).isFalse();
    assertThat(System.nanoTime() - began).isLessThan(Duration.ofSeconds(10).toNanos());
    // It comes back after all: what it compiled is freed, not published.
    hung.countDown();
    assertThat(load.get(10, TimeUnit.SECONDS).state()).isEqualTo(ModelState.FAILED);
    assertThat(device.openHandles()).isZero();
  }

  @Test
  void shouldServeTheOldVersionWhileTheNewOneCompiles() throws Exception {
    CountDownLatch compiling = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    ForwardingDevice slow =
        new ForwardingDevice(device) {
          private boolean first = true;

          @Override
          public DeviceProgram compile(ProgramSource source) {
            if (!first) {
              compiling.countDown();
              awaitUninterruptibly(goOn);
            }
            first = false;
            return super.compile(source);
          }
        };
    Path folder = repository.resolve("m");
    TestBundle.doubling(2, 1).write(folder, "1");
    try (Engine engine = Engine.open(EngineOptions.DEFAULT, slow)) {
      engine.admin().load(folder).get(30, TimeUnit.SECONDS);
      TestBundle.doubling(2, 1).write(folder, "2");
      CompletableFuture<ModelStatus> load = engine.admin().load(folder, VersionPolicy.LATEST);
      assertThat(compiling.await(10, TimeUnit.SECONDS)).isTrue();
      assertThat(engine.isReady()).isTrue();
      assertThat(engine.model("m", "2").orElseThrow().state()).isEqualTo(ModelState.LOADING);
      assertThat(call(engine, 1).outcome()).isInstanceOf(Outcome.Completed.class);
      goOn.countDown();
      assertThat(load.get(30, TimeUnit.SECONDS).version()).isEqualTo("2");
      assertThat(call(engine, 1).modelVersion()).isEqualTo("2");
    }
  }

  private static void assertCountsAddUp(Engine engine) {
    ModelTotals totals = engine.reports().counters("m").orElseThrow();
    assertThat(totals.open()).isZero();
    assertThat(totals.waiting()).isZero();
    assertThat(totals.get(Metric.ACCEPTED)).isEqualTo(totals.get(Metric.COMPLETED));
  }

  private static Reply call(Engine engine, float value) throws Exception {
    ReplySink sink = new ReplySink();
    engine.submit(
        InferenceRequest.of("m", List.of(Floats.input("x", new long[] {1, 2}, value, -value)), sink)
            .build());
    return sink.reply().get(30, TimeUnit.SECONDS);
  }

  private static void awaitUninterruptibly(CountDownLatch latch) {
    while (true) {
      try {
        latch.await();
        return;
      } catch (InterruptedException e) {
        // as a compile would
      }
    }
  }

  /** Threads that call without pause and keep what they did not expect. */
  private static final class Callers implements AutoCloseable {
    private final Engine engine;
    private final boolean always;
    private final List<Thread> threads = new ArrayList<>();
    private final Queue<String> wrong = new ConcurrentLinkedQueue<>();
    private final AtomicLong calls = new AtomicLong();
    private volatile boolean over;

    /**
     * @param always every call must be answered; else it may be refused
     */
    Callers(Engine engine, boolean always) {
      this.engine = engine;
      this.always = always;
      for (int caller = 0; caller < CALLERS; caller++) {
        int first = caller * 1_000_000;
        threads.add(Thread.ofPlatform().name("caller-" + caller).start(() -> run(first)));
      }
    }

    Queue<String> wrong() {
      return wrong;
    }

    /** Waits until so many more calls have ended. */
    void awaitCalls(int more) throws InterruptedException {
      long goal = calls.get() + more;
      long deadline = System.nanoTime() + Duration.ofSeconds(30).toNanos();
      while (calls.get() < goal) {
        assertThat(System.nanoTime()).as("calls go on: %s", wrong).isLessThan(deadline);
        TimeUnit.MICROSECONDS.sleep(100);
      }
    }

    private void run(int first) {
      for (int i = first; !over; i++) {
        try {
          Reply reply = call(engine, i);
          Outcome outcome = reply.outcome();
          switch (outcome) {
            case Outcome.Completed done -> {
              if (Floats.of(reply.outputs().getFirst())[0] != 2f * i) {
                wrong.add(i + " got another's answer");
              }
            }
            case Outcome.Refused refused when !always -> {}
            default -> wrong.add(i + " ended in " + outcome);
          }
        } catch (Exception e) {
          wrong.add(i + " threw " + e);
        }
        calls.incrementAndGet();
      }
    }

    @Override
    public void close() throws InterruptedException {
      over = true;
      for (Thread thread : threads) {
        thread.join();
      }
    }
  }
}
