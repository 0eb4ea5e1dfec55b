package dev.roundhouse.engine.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.ReferenceFunction;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.HookedDevice;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TestEngine;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DispatchLoopTest {
  @TempDir Path repository;

  @Test
  void shouldRunQueuedRequestsOfAModelTogetherAndGiveEachItsOwnRows() {
    TestEngine engine = engineWithDoubling(1, 4, 8);
    Submission two = engine.submit("double", Floats.input("x", shape(2), 1, 2, 3, 4));
    Submission one = engine.submit("double", Floats.input("x", shape(1), 5, 6));
    Submission other = engine.submit("double", Floats.input("x", shape(1), 7, 8));
    long before = engine.device().executions();
    engine.run();
    assertThat(engine.device().executions() - before).isEqualTo(1);
    assertThat(floats(engine, two)).containsExactly(2, 4, 6, 8);
    assertThat(floats(engine, one)).containsExactly(10, 12);
    assertThat(floats(engine, other)).containsExactly(14, 16);
    assertThat(engine.counters("double").get(Metric.ROWS)).isEqualTo(4);
    assertThat(engine.counters("double").get(Metric.PADDING_ROWS)).isZero();
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  /** Some programs run in the call that starts them, for as long as they take. */
  @Test
  void shouldNotCountAsWaitingWhoRunsInTheCall() {
    TestEngine engine = engineWithDoubling(1);
    List<Integer> waiting = new ArrayList<>();
    engine.hook(
        (call, of) -> {
          if (call == HookedDevice.Call.EXECUTE) {
            waiting.add(engine.counters("double").waiting());
          }
        });
    engine.submit("double", Floats.input("x", shape(1), 1, 2));
    engine.submit("double", Floats.input("x", shape(1), 3, 4));
    engine.run();
    assertThat(waiting).containsExactly(1, 0);
  }

  @Test
  void shouldPadWithZerosAndShowThePaddingToNobody() {
    List<Float> seen = new ArrayList<>();
    ReferenceFunction recording =
        (program, arguments, results) -> {
          seen.clear();
          for (long i = 0; i < arguments.getFirst().byteSize() / 4; i++) {
            seen.add(arguments.getFirst().getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i));
          }
          TestBundle.DOUBLE.apply(program, arguments, results);
        };
    TestEngine engine = TestEngine.of(recording);
    engine.load(TestBundle.doubling(2, 4).write(repository, "double"));
    engine.submit("double", Floats.input("x", shape(4), 9, 9, 9, 9, 9, 9, 9, 9));
    engine.run();
    Submission small = engine.submit("double", Floats.input("x", shape(1), 1, 2));
    engine.run();
    assertThat(seen).containsExactly(1f, 2f, 0f, 0f, 0f, 0f, 0f, 0f);
    assertThat(engine.completed(small).outputs().getFirst().shape().dims()).containsExactly(1, 2);
    assertThat(floats(engine, small)).containsExactly(2, 4);
    assertThat(engine.counters("double").get(Metric.PADDING_ROWS)).isEqualTo(3);
  }

  @Test
  void shouldRunEachRequestOfAModelWithoutABatchAxisAlone() {
    TestEngine engine = TestEngine.of(TestBundle.DOUBLE);
    engine.load(TestBundle.doublingOne(3).write(repository, "one"));
    Submission first = engine.submit("one", Floats.input("x", new long[] {3}, 1, 2, 3));
    Submission second = engine.submit("one", Floats.input("x", new long[] {3}, 4, 5, 6));
    long before = engine.device().executions();
    engine.run();
    assertThat(engine.device().executions() - before).isEqualTo(2);
    OutputTensor output = engine.completed(first).outputs().getFirst();
    assertThat(output.shape().dims()).containsExactly(3);
    assertThat(Floats.of(output)).containsExactly(2, 4, 6);
    assertThat(Floats.of(engine.completed(second).outputs().getFirst())).containsExactly(8, 10, 12);
    assertThat(engine.completed(second).timings().batchRows()).isEqualTo(1);
    assertThat(engine.counters("one").get(Metric.ROWS)).isEqualTo(2);
    assertThat(engine.counters("one").get(Metric.PADDING_ROWS)).isZero();
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  @Test
  void shouldRunARequestThatNoProgramHoldsPieceByPieceAndAnswerItOnce() {
    TestEngine engine = engineWithDoubling(1, 4);
    float[] many = new float[2 * 9];
    float[] doubled = new float[many.length];
    for (int i = 0; i < many.length; i++) {
      many[i] = i;
      doubled[i] = 2 * i;
    }
    Submission large = engine.submit("double", Floats.input("x", shape(9), many));
    Submission small = engine.submit("double", Floats.input("x", shape(1), 7, 8));
    long before = engine.device().executions();
    engine.run();
    assertThat(floats(engine, large)).containsExactly(doubled);
    assertThat(engine.completed(large).outputs().getFirst().shape().dims()).containsExactly(9, 2);
    assertThat(floats(engine, small)).containsExactly(14, 16);
    // 4 + 4 rows, then the ninth and the other caller's row, one run each as a program of 1 is
    // filled
    assertThat(engine.device().executions() - before).isEqualTo(4);
    assertThat(engine.counters("double").get(Metric.ROWS)).isEqualTo(10);
    assertThat(engine.counters("double").get(Metric.ACCEPTED)).isEqualTo(2);
    assertThat(engine.counters("double").get(Metric.COMPLETED)).isEqualTo(2);
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  @Test
  void shouldShareTheLastPieceOfALargeRequestWithOthers() {
    TestEngine engine = engineWithDoubling(4);
    float[] many = {1, 1, 2, 2, 3, 3, 4, 4, 5, 5};
    Submission large = engine.submit("double", Floats.input("x", shape(5), many));
    Submission small = engine.submit("double", Floats.input("x", shape(2), 6, 6, 7, 7));
    long before = engine.device().executions();
    engine.run();
    assertThat(engine.device().executions() - before).isEqualTo(2);
    assertThat(floats(engine, large)).containsExactly(2, 2, 4, 4, 6, 6, 8, 8, 10, 10);
    assertThat(floats(engine, small)).containsExactly(12, 12, 14, 14);
  }

  @Test
  void shouldEndALargeRequestOnceWhenItsDeadlinePassesBetweenPieces() {
    TestEngine engine =
        new TestEngine(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE).withExecutionNanos(p -> 1_000), 64);
    engine.load(TestBundle.doubling(2, 4).write(repository, "double"));
    Submission large =
        engine.submit(
            "double",
            engine.clock().nanoTime() + 3_500,
            List.of(),
            Floats.input("x", shape(12), new float[24]));
    Submission next = engine.submit("double", Floats.input("x", shape(1), 1, 2));
    assertThat(engine.counters("double").waiting()).isEqualTo(2);
    engine.clock().advance(2_000);
    engine.step();
    assertThat(engine.counters("double").waiting()).isEqualTo(1);
    engine.run();
    assertThat(engine.outcome(large)).isInstanceOf(Outcome.Shed.class);
    assertThat(floats(engine, next)).containsExactly(2, 4);
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  @Test
  void shouldFailALargeRequestOnceWhenAPieceFails() {
    int[] runs = {0};
    TestEngine engine =
        TestEngine.of(
            (program, arguments, results) -> {
              if (++runs[0] == 5) { // the first three are the warm-up
                throw new DeviceException(DeviceException.Code.INTERNAL, "second piece broke");
              }
              TestBundle.DOUBLE.apply(program, arguments, results);
            });
    engine.load(TestBundle.doubling(2, 4).write(repository, "double"));
    Submission large = engine.submit("double", Floats.input("x", shape(12), new float[24]));
    Submission next = engine.submit("double", Floats.input("x", shape(1), 1, 2));
    engine.run();
    assertThat(engine.outcome(large)).isInstanceOf(Outcome.Failed.class);
    assertThat(((Outcome.Failed) engine.outcome(large)).message()).contains("second piece broke");
    assertThat(floats(engine, next)).containsExactly(2, 4);
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  @Test
  void shouldServeTheModelWhoseRequestIsOldestFirst() {
    TestEngine engine = TestEngine.of(TestBundle.DOUBLE);
    engine.load(TestBundle.doubling(2, 1).write(repository, "a"));
    engine.load(TestBundle.doubling(2, 1).write(repository, "b"));
    Submission b = engine.submit("b", Floats.input("x", shape(1), 1, 1));
    engine.clock().advance(10);
    Submission a = engine.submit("a", Floats.input("x", shape(1), 1, 1));
    engine.clock().advance(10);
    Submission b2 = engine.submit("b", Floats.input("x", shape(1), 1, 1));
    engine.run();
    assertThat(engine.finished()).containsExactly(b, a, b2);
  }

  @Test
  void shouldHaveOneExecutionInFlightAtATime() {
    TestEngine engine =
        new TestEngine(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE).withExecutionNanos(p -> 1_000), 64);
    engine.load(TestBundle.doubling(2, 1).write(repository, "double"));
    Submission first = engine.submit("double", Floats.input("x", shape(1), 1, 1));
    Submission second = engine.submit("double", Floats.input("x", shape(1), 2, 2));
    long before = engine.device().executions();
    engine.step();
    engine.step();
    assertThat(engine.device().executions() - before).isEqualTo(1);
    assertThat(engine.isOver(first)).isFalse();
    engine.clock().advance(999);
    engine.step();
    assertThat(engine.isOver(first)).isFalse();
    engine.clock().advance(1);
    engine.step();
    assertThat(engine.isOver(first)).isTrue();
    assertThat(engine.device().executions() - before).isEqualTo(2);
    assertThat(engine.isOver(second)).isFalse();
    engine.run();
    assertThat(engine.completed(second).timings().queueNanos()).isEqualTo(1_000);
    assertThat(engine.completed(second).timings().computeNanos()).isEqualTo(1_000);
    engine.assertQuiescent();
  }

  @Test
  void shouldSayHowLongTheFrontOfAQueueHasWaitedWhileTheDeviceIsBusy() {
    TestEngine engine =
        new TestEngine(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE).withExecutionNanos(p -> 1_000), 64);
    engine.load(TestBundle.doubling(2, 1).write(repository, "double"));
    engine.submit("double", Floats.input("x", shape(1), 1, 1));
    engine.step();
    engine.submit("double", Floats.input("x", shape(1), 2, 2));
    engine.step();
    engine.clock().advance(700);
    assertThat(engine.engine().reports().details("double").orElseThrow().oldestWaitNanos())
        .isEqualTo(700);
    engine.run();
    assertThat(engine.engine().reports().details("double").orElseThrow().oldestWaitNanos())
        .isZero();
  }

  @Test
  void shouldShedARequestWhoseDeadlinePassedInTheQueueAndRunItsBatchMates() {
    TestEngine engine = engineWithDoubling(1, 4);
    Submission kept = engine.submit("double", Floats.input("x", shape(1), 1, 2));
    Submission late =
        engine.submit(
            "double", engine.clock().nanoTime() + 5, List.of(), Floats.input("x", shape(1), 3, 4));
    Submission alsoKept = engine.submit("double", Floats.input("x", shape(1), 5, 6));
    engine.clock().advance(5);
    engine.run();
    assertThat(engine.outcome(late)).isInstanceOf(Outcome.Shed.class);
    assertThat(((Outcome.Shed) engine.outcome(late)).status()).isEqualTo(Status.DEADLINE_EXCEEDED);
    assertThat(floats(engine, kept)).containsExactly(2, 4);
    assertThat(floats(engine, alsoKept)).containsExactly(10, 12);
    assertThat(engine.counters("double").shed()).isEqualTo(1);
    engine.assertQuiescent();
  }

  @Test
  void shouldForgetACancelledRequestAndFreeItsPlaceAtOnce() {
    TestEngine engine = new TestEngine(SimulatedDeviceOptions.instant(TestBundle.DOUBLE), 2);
    engine.load(TestBundle.doubling(2, 1, 4).write(repository, "double"));
    Submission first = engine.submit("double", Floats.input("x", shape(1), 1, 1));
    Submission second = engine.submit("double", Floats.input("x", shape(1), 2, 2));
    Submission tooMany = engine.submit("double", Floats.input("x", shape(1), 3, 3));
    assertThat(engine.outcome(tooMany)).isInstanceOf(Outcome.Refused.class);
    assertThat(((Outcome.Refused) engine.outcome(tooMany)).status())
        .isEqualTo(Status.RESOURCE_EXHAUSTED);
    assertThat(engine.cancel(first)).isTrue();
    assertThat(engine.cancel(first)).isFalse();
    Submission third = engine.submit("double", Floats.input("x", shape(1), 4, 4));
    engine.run();
    assertThat(engine.outcome(first)).isInstanceOf(Outcome.Cancelled.class);
    assertThat(floats(engine, second)).containsExactly(4, 4);
    assertThat(floats(engine, third)).containsExactly(8, 8);
    assertThat(engine.cancel(third)).isFalse();
    engine.assertQuiescent();
  }

  @Test
  void shouldFailTheBatchOnlyWhenTheDeviceFails() {
    boolean[] broken = {false};
    ReferenceFunction sometimes =
        (program, arguments, results) -> {
          if (broken[0]) {
            throw new DeviceException(DeviceException.Code.OUT_OF_MEMORY, "no room for 12 bytes");
          }
          TestBundle.DOUBLE.apply(program, arguments, results);
        };
    TestEngine engine = TestEngine.of(sometimes);
    engine.load(TestBundle.doubling(2, 1).write(repository, "double"));
    broken[0] = true;
    Submission unlucky = engine.submit("double", Floats.input("x", shape(1), 1, 1));
    engine.run();
    broken[0] = false;
    Submission lucky = engine.submit("double", Floats.input("x", shape(1), 1, 1));
    engine.run();
    assertThat(engine.outcome(unlucky)).isInstanceOf(Outcome.Failed.class);
    Outcome.Failed failed = (Outcome.Failed) engine.outcome(unlucky);
    assertThat(failed.status()).isEqualTo(Status.RESOURCE_EXHAUSTED);
    assertThat(failed.message()).contains("'double'").contains("no room for 12 bytes");
    assertThat(floats(engine, lucky)).containsExactly(2, 2);
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  @Test
  void shouldNotServeAModelWhoseProgramDoesNotRun() {
    TestEngine engine =
        TestEngine.of(
            (program, arguments, results) -> {
              throw new DeviceException(DeviceException.Code.INTERNAL, "no such kernel");
            });
    ModelStatus status = engine.load(TestBundle.doubling(2, 1).write(repository, "double"));
    assertThat(status.state()).isEqualTo(ModelState.FAILED);
    assertThat(status.reason()).contains("no such kernel");
    engine.assertNothingLeaks();
  }

  @ParameterizedTest
  @ValueSource(longs = {101, 102, 103, 104})
  void shouldGiveEveryRequestItsOwnResultExactlyOnceWhateverHappens(long seed) {
    Random random = new Random(seed);
    TestEngine engine =
        new TestEngine(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE)
                .withExecutionNanos(program -> 500 + program.length() * 37L),
            40);
    for (int model = 0; model < 5; model++) {
      engine.load(TestBundle.doubling(3, 1, 2, 8).write(repository, "m" + model));
    }
    List<Submission> all = new ArrayList<>();
    for (int i = 0; i < 3_000; i++) {
      int rows = 1 + random.nextInt(random.nextInt(5) == 0 ? 30 : 8);
      float[] values = new float[rows * 3];
      for (int v = 0; v < values.length; v++) {
        values[v] = i * 31 + v;
      }
      long deadline =
          random.nextInt(4) == 0
              ? engine.clock().nanoTime() + random.nextInt(3_000)
              : InferenceRequest.NO_DEADLINE;
      all.add(
          engine.submit(
              "m" + random.nextInt(5),
              deadline,
              List.of(),
              Floats.input("x", new long[] {rows, 3}, values)));
      if (random.nextInt(6) == 0) {
        engine.cancel(all.get(random.nextInt(all.size())));
      }
      for (int turn = random.nextInt(3); turn > 0; turn--) {
        engine.step();
      }
      engine.clock().advance(random.nextInt(400));
    }
    engine.run();
    for (int i = 0; i < all.size(); i++) {
      if (engine.outcome(all.get(i)) instanceof Outcome.Completed) {
        float[] result = floats(engine, all.get(i));
        for (int v = 0; v < result.length; v++) {
          assertThat(result[v]).as("seed %d request %d", seed, i).isEqualTo(2f * (i * 31 + v));
        }
      }
    }
    for (Metric ending : List.of(Metric.COMPLETED, Metric.SHED_DEADLINE_PASSED, Metric.CANCELLED)) {
      long sum = 0;
      for (int model = 0; model < 5; model++) {
        sum += engine.counters("m" + model).get(ending);
      }
      assertThat(sum).as("seed %d: the workload reaches %s", seed, ending).isPositive();
    }
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  private TestEngine engineWithDoubling(int... batchSizes) {
    TestEngine engine = TestEngine.of(TestBundle.DOUBLE);
    ModelStatus status =
        engine.load(TestBundle.doubling(2, batchSizes).write(repository, "double"));
    assertThat(status.reason()).isEmpty();
    return engine;
  }

  private static long[] shape(int rows) {
    return new long[] {rows, 2};
  }

  private static float[] floats(TestEngine engine, Submission request) {
    return Floats.of(engine.completed(request).outputs().getFirst());
  }
}
