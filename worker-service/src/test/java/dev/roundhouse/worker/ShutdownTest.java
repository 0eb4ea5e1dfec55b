package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.ForwardingDevice;
import dev.roundhouse.engine.device.ProgramSource;
import dev.roundhouse.engine.dispatch.DispatchThread;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.worker.lifecycle.EngineLifecycle;
import dev.roundhouse.worker.lifecycle.Readiness;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

@Timeout(120)
@ExtendWith(OutputCaptureExtension.class)
class ShutdownTest {
  @TempDir Path repository;
  private final Gate gate = new Gate();

  @Test
  void shouldAnswerAcceptedCallsBeforeItStops(CapturedOutput output) throws Exception {
    TestBundle.doubling(2, 1).write(repository, "double");
    try (RunningWorker worker = new RunningWorker(repository, gate)) {
      worker.bean(EngineLifecycle.class).loaded().get(60, TimeUnit.SECONDS);
      Readiness readiness = worker.bean(Readiness.class);
      assertThat(readiness.isReady()).isTrue();
      gate.shut();
      var stub = GRPCInferenceServiceGrpc.newFutureStub(worker.channel());
      var running = stub.modelInfer(WorkerTest.request("double", 1, 1, 2));
      gate.awaitArrival();
      var waiting = stub.modelInfer(WorkerTest.request("double", 1, 3, 4));

      Thread stopping = Thread.ofPlatform().name("stop").start(worker::stop);
      while (!readiness.isStopping()) {
        Thread.onSpinWait();
      }
      assertThat(readiness.isReady()).isFalse();
      gate.open();

      assertThat(running.get(30, TimeUnit.SECONDS).getRawOutputContents(0))
          .isEqualTo(WorkerTest.floats(2, 4));
      assertThat(waiting.get(30, TimeUnit.SECONDS).getRawOutputContents(0))
          .isEqualTo(WorkerTest.floats(6, 8));
      stopping.join();
    }
    assertThat(Thread.getAllStackTraces().keySet())
        .extracting(Thread::getName)
        .noneMatch(name -> name.equals("dispatch") || name.startsWith("compile-"));
    assertThat(output.getOut().lines().filter(line -> line.startsWith("ready ")))
        .singleElement()
        .asString()
        .matches("ready grpc=\\d+ http=\\d+ metrics=\\d+ models=1 failed=0 seconds=\\d+\\.\\d");
  }

  @Test
  void shouldTurnNewCallsAwayAndGiveUpWhatDoesNotEndWithinTheBudget() throws Exception {
    TestBundle.doubling(2, 1).write(repository, "double");
    try (RunningWorker worker =
        new RunningWorker(repository, gate, "--roundhouse.worker.shutdown.drain=100ms")) {
      worker.bean(EngineLifecycle.class).loaded().get(60, TimeUnit.SECONDS);
      gate.shut();
      var stub = GRPCInferenceServiceGrpc.newFutureStub(worker.channel());
      var stuck = stub.modelInfer(WorkerTest.request("double", 1, 1, 2));
      gate.awaitArrival();
      assertThat(worker.bean(Engine.class).drain(Duration.ZERO)).isFalse();
      StatusRuntimeException refusal =
          catchThrowableOfType(
              StatusRuntimeException.class,
              () -> worker.stub().modelInfer(WorkerTest.request("double", 1, 3, 4)));
      assertThat(refusal.getStatus().getCode()).isEqualTo(Status.Code.UNAVAILABLE);
      assertThat(refusal.getStatus().getDescription()).contains("Server exiting");

      Thread stopping = Thread.ofPlatform().name("stop").start(worker::stop);

      assertThat(stuck).failsWithin(30, TimeUnit.SECONDS);
      gate.open();
      stopping.join();
    }
  }

  @Test
  void shouldRunWhatIsHeldForMoreRequestsBeforeItStops() throws Exception {
    TestBundle.doubling(2, 1, 4).write(repository, "double");
    try (RunningWorker worker =
        new RunningWorker(repository, gate, "--roundhouse.worker.scheduler.max-queue-delay=1m")
            .awaitLoaded()) {
      var held =
          GRPCInferenceServiceGrpc.newFutureStub(worker.channel())
              .modelInfer(WorkerTest.request("double", 1, 1, 2));
      while (worker.bean(Engine.class).openRequests() == 0) {
        Thread.onSpinWait();
      }

      worker.stop();

      assertThat(held.get(30, TimeUnit.SECONDS).getRawOutputContents(0))
          .isEqualTo(WorkerTest.floats(2, 4));
    }
  }

  @Test
  void shouldEndTheProcessAtOnceWhenACompileStillUsesTheDevice(CapturedOutput output)
      throws Exception {
    TestBundle.doubling(2, 1).write(repository, "hangs");
    CountDownLatch compiling = new CountDownLatch(1);
    CompletableFuture<Void> over = new CompletableFuture<>();
    Device device =
        new ForwardingDevice(RunningWorker.simulated(gate)) {
          @Override
          public DeviceProgram compile(ProgramSource source) {
            compiling.countDown();
            over.join();
            return super.compile(source);
          }
        };
    try (RunningWorker worker =
        new RunningWorker(repository, device, "--roundhouse.worker.shutdown.drain=100ms")) {
      assertThat(compiling.await(60, TimeUnit.SECONDS)).isTrue();
      worker.stop();
      assertThat(worker.exited()).isCompletedWithValue(EngineLifecycle.CODE_IN_USE);
      assertThat(output.getOut()).contains("something still uses the device, a compile");
    } finally {
      over.complete(null);
    }
  }

  @Test
  void shouldNotCloseTheDeviceUnderAnAnswerThatIsStillRead(CapturedOutput output) throws Exception {
    int width = 1 << 16;
    TestBundle.doubling(width, 1).write(repository, "large");
    CompletableFuture<Answer> kept = new CompletableFuture<>();
    AnswerSink keeping =
        new AnswerSink() {
          @Override
          public void onPart(Answer part) {
            kept.complete(part);
          }

          @Override
          public void onEnd(Outcome outcome) {}
        };
    float[] ones = new float[width];
    Arrays.fill(ones, 1);
    try (RunningWorker worker = new RunningWorker(repository, gate).awaitLoaded()) {
      InputTensor x = Floats.input("x", new long[] {1, width}, ones);
      worker.bean(Engine.class).submit(InferenceRequest.of("large", List.of(x), keeping).build());
      Answer answer = kept.get(30, TimeUnit.SECONDS);

      worker.stop();

      assertThat(worker.exited()).isCompletedWithValue(EngineLifecycle.CODE_IN_USE);
      assertThat(output.getOut()).contains("or an answer that is being sent");
      assertThat(Floats.of(answer.outputs().getFirst())).containsOnly(2);
      answer.close();
    }
  }

  @Test
  void shouldTellCallersWhoStillWaitWhenTheBudgetIsSpent() throws Exception {
    TestBundle.doubling(2, 1).write(repository, "double");
    try (RunningWorker worker =
        new RunningWorker(repository, gate, "--roundhouse.worker.shutdown.drain=100ms")
            .awaitLoaded()) {
      gate.shut();
      var stub = GRPCInferenceServiceGrpc.newFutureStub(worker.channel());
      var running = stub.modelInfer(WorkerTest.request("double", 1, 1, 2));
      gate.awaitArrival();
      var waiting = stub.modelInfer(WorkerTest.request("double", 1, 3, 4));
      while (worker.bean(Engine.class).openRequests() < 2) {
        Thread.onSpinWait();
      }

      Thread stopping = Thread.ofPlatform().name("stop").start(worker::stop);
      while (!isClosingDispatch()) {
        Thread.onSpinWait();
      }
      gate.open();
      stopping.join();

      assertThat(running).isDone();
      assertThat(waiting)
          .failsWithin(30, TimeUnit.SECONDS)
          .withThrowableThat()
          .withMessageContaining("UNAVAILABLE: Server exiting");
    }
  }

  /** True once somebody waits for the dispatch thread to end, which begins nothing any more. */
  static boolean isClosingDispatch() {
    return Thread.getAllStackTraces().values().stream()
        .flatMap(Arrays::stream)
        .anyMatch(
            frame ->
                frame.getClassName().equals(DispatchThread.class.getName())
                    && frame.getMethodName().equals("close"));
  }
}
